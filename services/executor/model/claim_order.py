"""The order in which runs are claimed, within an execution and between organisations.

Within an execution the longest expected run comes first, because a long run that starts last delays the end (Graham
1969: longest first is within 4/3 of the optimum). Between organisations: the one with the fewest running runs, then the
one that was served longest ago, then the one whose run is the oldest. Within an organisation: started runs first, then
by priority.

Before that, stages: the runs of one are released when all runs of the stages before have ended. The first `sequence`
stages of an execution are tests that run one after the other, and the last has all other tests, which run side by side.
With `continue_on_failure` false, those after one that did not pass are not run.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from statistics import median
from types import MappingProxyType

from mobiletest_automation.model.failures import not_run_after
from mobiletest_automation.model.states import Status
from services.executor.model import lifecycle
from services.executor.model.runs import Run

HIGHEST_PRIORITY = 10
LAST_RANK = 2 * HIGHEST_PRIORITY + 1
EMPTY: Mapping[str, int] = MappingProxyType({})
# The weight of a new duration against the smoothed earlier ones.
WEIGHT_OF_NEWEST = 0.3
_Turn = tuple[int, int, datetime, str]


def smoothed_duration(seconds: float, before: float | None) -> float:
    """The exponentially weighted duration after a run of `seconds`; `before` is None for the first."""
    return seconds if before is None else before + WEIGHT_OF_NEWEST * (seconds - before)


def claim_orders(expected: Sequence[float | None]) -> list[int]:
    """The place of each run in the claim order, from 0: the longest expected seconds first.

    Unknown ones (None) count as the median of the known. Equal ones keep their order.
    """
    known = [seconds for seconds in expected if seconds is not None]
    middle = median(known) if known else 0.0
    longest = sorted(range(len(expected)), key=lambda index: -(middle if (e := expected[index]) is None else e))
    places = [0] * len(expected)
    for place, index in enumerate(longest):
        places[index] = place
    return places


def rank(run: Run) -> int:
    """Lower ranks are claimed first: 0 for runs that have started (their time limit is running), else by priority."""
    return 0 if run.attempts else HIGHEST_PRIORITY + 1 - run.priority


@dataclass(frozen=True, slots=True)
class OrgQueue:
    """The waiting runs of one organisation and rank on a platform; `since` is when the first was released."""

    rank: int
    org_id: str
    since: datetime


def share_slots(
    queues: Iterable[OrgQueue],
    limit: int,
    *,
    running: Mapping[str, int] = EMPTY,
    served: Mapping[str, int] = EMPTY,
    left: Mapping[str, int] = EMPTY,
) -> list[OrgQueue]:
    """From which queues to claim up to `limit` runs, in order; a queue may occur several times.

    By organisation: `running` is the number of its running runs; `served` the number of its last claim (only the order
    matters), which decides between organisations with equally many running, as with a single slot; `left` how many more
    runs it may have (absent: any number). Only the first queue of an organisation is chosen. Queues are assumed to be
    long enough: a caller that finds a shorter one asks again.
    """
    taken: Counter[str] = Counter()

    def turn(queue: OrgQueue) -> _Turn:
        org_id = queue.org_id
        return running.get(org_id, 0) + taken[org_id], served.get(org_id, 0), queue.since, org_id

    waiting = [(turn(queue), queue) for queue in _first_of_each(queues)]
    heapq.heapify(waiting)
    chosen: list[OrgQueue] = []
    while waiting and len(chosen) < limit:
        _, queue = waiting[0]
        if queue.org_id in left and taken[queue.org_id] >= left[queue.org_id]:
            heapq.heappop(waiting)
            continue
        chosen.append(queue)
        taken[queue.org_id] += 1
        heapq.heapreplace(waiting, (turn(queue), queue))
    return chosen


def _first_of_each(queues: Iterable[OrgQueue]) -> Iterable[OrgQueue]:
    """The queue of the lowest rank of each organisation."""
    first: dict[str, OrgQueue] = {}
    for queue in queues:
        if queue.org_id not in first or queue.rank < first[queue.org_id].rank:
            first[queue.org_id] = queue
    return first.values()


def stage_moves(
    runs: Sequence[Run], sequence: int, now: datetime, *, continue_on_failure: bool
) -> list[tuple[Run, Run]]:
    """The runs to release or to end now, each before and after; `runs` are all of the execution, as they are."""
    moves: list[tuple[Run, Run]] = []
    failed: Run | None = None
    for stage, members in groupby(sorted(runs, key=lambda run: run.stage), key=lambda run: run.stage):
        of_stage = list(members)
        waiting = [run for run in of_stage if run.status is Status.INITIALIZED]
        if failed is not None and stage < sequence:
            moves += [(run, lifecycle.end(run, not_run_after(failed.target.test_name), now)) for run in waiting]
            continue
        moves += [(run, lifecycle.queue(run, now)) for run in waiting]
        if waiting or any(not run.status.terminal for run in of_stage):
            return moves
        if not continue_on_failure:
            failed = failed or next((run for run in of_stage if run.success is not True), None)
    return moves


def release_stages(runs: Sequence[Run], sequence: int, now: datetime, *, continue_on_failure: bool) -> list[Run]:
    """New runs, of which those of the first stage are released."""
    moved = {run.id: after for run, after in stage_moves(runs, sequence, now, continue_on_failure=continue_on_failure)}
    return [moved.get(run.id, run) for run in runs]
