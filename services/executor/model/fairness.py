"""Whose run is next: begun ones first, then by priority, then of the organisation with the fewest, then the oldest."""

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from services.executor.model.runs import Run

HIGHEST_PRIORITY = 10


def rank(run: Run) -> int:
    """Lower ones are claimed first: 0 for what was begun before (its clock is running), else by priority."""
    return 0 if run.attempts else HIGHEST_PRIORITY + 1 - run.priority


@dataclass(frozen=True, slots=True)
class Queue:
    """The runs of one organisation and rank that wait for a platform; `since` is when the first was released."""

    rank: int
    org_id: str
    since: datetime


def shares(
    queues: Iterable[Queue], running: Mapping[str, int], limit: int, *, left: Mapping[str, int] | None = None
) -> list[Queue]:
    """From which queues to claim up to `limit` runs, in order; a queue may come several times.

    `running` is how many runs each organisation has under way on the platform, `left` how many more each may have
    (None: any number). A queue counts as if it had no end: who finds it shorter asks again.
    """
    waiting = [(queue.rank, running.get(queue.org_id, 0), queue.since, queue.org_id, queue) for queue in queues]
    heapq.heapify(waiting)
    taken: Counter[str] = Counter()
    chosen: list[Queue] = []
    while waiting and len(chosen) < limit:
        place, count, since, org_id, queue = heapq.heappop(waiting)
        if left is not None and taken[org_id] >= left[org_id]:
            continue
        now = running.get(org_id, 0) + taken[org_id]
        if count == now:
            chosen.append(queue)
            taken[org_id] += 1
            now += 1
        heapq.heappush(waiting, (place, now, since, org_id, queue))
    return chosen
