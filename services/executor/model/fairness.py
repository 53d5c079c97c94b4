"""Whose run is claimed next.

Begun runs first, then by priority, then those of the organisation with the fewest under way, then of the one that was
served the longest ago, then the oldest.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from services.executor.model.runs import Run

HIGHEST_PRIORITY = 10


def rank(run: Run) -> int:
    """Lower ones are claimed first: 0 for what was begun before (its clock is running), else by priority."""
    return 0 if run.attempts else HIGHEST_PRIORITY + 1 - run.priority


@dataclass(frozen=True, slots=True)
class OrgQueue:
    """The runs of one organisation and rank that wait for a platform; `since` is when the first was released."""

    rank: int
    org_id: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OrgLoad:
    """What organisations have of a platform, by id.

    `running`: runs under way. `served`: when a run of it was claimed last, in claims (only their order matters); it
    decides between organisations that have the same number under way, as when there is one slot. `left`: how many more
    each may have (None: any number).
    """

    running: Mapping[str, int] = field(default_factory=dict)
    served: Mapping[str, int] = field(default_factory=dict)
    left: Mapping[str, int] | None = None


def share_slots(queues: Iterable[OrgQueue], standing: OrgLoad, limit: int) -> list[OrgQueue]:
    """From which queues to claim up to `limit` runs, in order; a queue may come several times.

    A queue counts as if it had no end: who finds it shorter asks again.
    """
    taken: Counter[str] = Counter()

    def place(queue: OrgQueue) -> _Place:
        org_id = queue.org_id
        running = standing.running.get(org_id, 0) + taken[org_id]
        return queue.rank, running, standing.served.get(org_id, 0), queue.since, org_id

    waiting = [(place(queue), queue) for queue in queues]
    heapq.heapify(waiting)
    chosen: list[OrgQueue] = []
    while waiting and len(chosen) < limit:
        before, queue = heapq.heappop(waiting)
        if standing.left is not None and taken[queue.org_id] >= standing.left[queue.org_id]:
            continue
        if before == place(queue):
            chosen.append(queue)
            taken[queue.org_id] += 1
        heapq.heappush(waiting, (place(queue), queue))
    return chosen


_Place = tuple[int, int, int, datetime, str]
