"""Runs that wait for a worker, in the order in which they are to be claimed: fair between organisations.

A run that may be claimed has a field `queue` (platform, rank, organisation), one that is leased a field `leased` (its
platform); partial indexes on both hold what waits and what runs, whatever else there is. The first run of each queue
is a jump in the index (DISTINCT_SCAN), so that the cost grows with the organisations that wait, not with the runs.
"""

import asyncio
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import monotonic

from services.chassis.mongo import Document, Mongo
from services.executor.model.fairness import OrgLoad, OrgQueue, rank, share_slots
from services.executor.model.runs import Platform, Run, RunLimits
from services.executor.ports.runs import RunKey
from services.executor.storage.claim_contention import ClaimContention
from services.executor.storage.schema import QUEUED, RUNS

REMEMBERED = 10_000
MANY = 50
SEEN_SECONDS = 0.25
ADOPTS_SECONDS = 3600.0
"""Longer than a rolling deployment takes."""
_PLATFORMS = [platform.value for platform in Platform]
_IS_TIME: Document = {"$expr": {"$lte": ["$claimable_at", "$$NOW"]}}
_IN_ORDER = {"queue": 1, "claimable_at": 1, "turn": 1}
_FIRST_OF_EACH: Document = {
    "_id": "$queue",
    "org_id": {"$first": "$org_id"},
    "run_id": {"$first": "$_id"},
    "execution_id": {"$first": "$execution_id"},
    "claimable_at": {"$first": "$claimable_at"},
}


def claim_fields(run: Run) -> Document:
    """The fields by which waiting and leased runs are found."""
    platform = run.target.platform
    if platform is None:
        return {}
    if run.lease is not None:
        return {"leased": platform.value}
    return {} if run.claimable_at is None else {"queue": f"{platform.value}/{rank(run):02d}/{run.org_id}"}


@dataclass(frozen=True, slots=True)
class _Head:
    """A queue, its name in the documents, and its first run."""

    name: str
    queue: OrgQueue
    key: RunKey


class FairQueue:
    """What waits, over all organisations."""

    def __init__(self, mongo: Mongo, limits: RunLimits) -> None:
        self._mongo = mongo
        self._limits = limits
        self._served: dict[str, int] = {}
        self._claims = 0
        self._seen: dict[Platform, tuple[list[_Head], float]] = {}
        self._adopts_until = monotonic() + ADOPTS_SECONDS
        self.crowding = ClaimContention()

    async def first(self, platform: Platform, limit: int) -> list[RunKey]:
        """Up to `limit` runs that may be claimed now, in the order in which they are to be."""
        heads = await self._heads(platform)
        by_queue = {head.queue: head for head in heads}
        chosen = [by_queue[queue] for queue in await self._chosen(platform, list(by_queue), limit)]
        wanted = Counter(head.name for head in chosen)
        self._use_up(platform, wanted)
        found = await asyncio.gather(*(self._of(head, wanted[head.name]) for head in heads if wanted[head.name]))
        left = {head.name: iter(keys) for head, keys in zip((h for h in heads if wanted[h.name]), found, strict=True)}
        return [key for head in chosen if (key := next(left[head.name], None)) is not None]

    def served(self, org_id: str) -> None:
        """This process has claimed a run of the organisation. What it remembers of that is enough: it is for slots that
        come free one after the other in one place; over all workers it is what runs that counts."""
        self.crowding.won()
        self._claims += 1
        self._served.pop(org_id, None)
        self._served[org_id] = self._claims
        if len(self._served) > REMEMBERED:
            del self._served[next(iter(self._served))]

    async def oldest(self) -> datetime | None:
        """When the run that has waited longest was released; None when nothing waits."""
        firsts = {"_id": "$queue", "claimable_at": {"$first": "$claimable_at"}}
        first = {"_id": None, "claimable_at": {"$min": "$claimable_at"}}
        pipeline: list[Document] = [
            {"$match": {"queue": {"$gt": ""}}},
            {"$sort": _IN_ORDER},
            {"$group": firsts},
            {"$group": first},
        ]
        found = await self._mongo.aggregate(RUNS, pipeline)
        return found[0]["claimable_at"] if found else None

    async def adopt(self) -> None:
        """Put runs into queues that a process of an earlier version released, while there may be such processes."""
        if monotonic() < self._adopts_until:
            waiting = {"due_at": {"$exists": True}, "claimable_at": {"$exists": True}, "queue": {"$exists": False}}
            on_platform = {"target.platform": {"$in": _PLATFORMS}}
            await self._mongo.collection(RUNS).update_many({**waiting, **on_platform}, [QUEUED])

    def forget(self) -> None:
        """Look afresh at the next search: what was seen is not so any more."""
        self._seen.clear()

    async def _heads(self, platform: Platform) -> list[_Head]:
        """The first run of each queue. Of many queues it is remembered for a moment: there is enough to choose from."""
        heads, until = self._seen.get(platform, ([], 0.0))
        if len(heads) < MANY or monotonic() >= until:
            heads = await self._look(platform)
            self._seen[platform] = heads, monotonic() + SEEN_SECONDS
        return heads

    def _use_up(self, platform: Platform, chosen: Container[str]) -> None:
        """Nothing where it was all forgotten meanwhile, as when another claim was lost."""
        heads, until = self._seen.get(platform, ([], 0.0))
        self._seen[platform] = [head for head in heads if head.name not in chosen], until

    async def _look(self, platform: Platform) -> list[_Head]:
        of_platform = {"queue": {"$gte": f"{platform.value}/", "$lt": f"{platform.value}0"}}  # "0" comes after "/"
        pipeline: list[Document] = [
            {"$match": of_platform},
            {"$sort": _IN_ORDER},
            {"$group": _FIRST_OF_EACH},
            {"$match": _IS_TIME},
        ]
        return [_head(document) for document in await self._mongo.aggregate(RUNS, pipeline)]

    async def _chosen(self, platform: Platform, queues: Sequence[OrgQueue], limit: int) -> list[OrgQueue]:
        """Who is the only one and has no limit needs no comparison."""
        most = self._limits.organisation_runs
        if most is None and len({queue.org_id for queue in queues}) <= 1:
            return share_slots(queues, OrgLoad(), limit)
        leased = await self._leased()
        left = None
        if most is not None:
            left = {q.org_id: most - sum(leased[q.org_id, p] for p in _PLATFORMS) for q in queues}
        running = {q.org_id: leased[q.org_id, platform.value] for q in queues}
        served = self.crowding.turns(list(running)) if self.crowding.ahead else self._served
        return share_slots(queues, OrgLoad(running=running, served=served, left=left), limit)

    async def _leased(self) -> Counter[tuple[str, str]]:
        """How many runs are leased, by organisation and platform."""
        of_whom = {"_id": {"org_id": "$org_id", "leased": "$leased"}, "runs": {"$sum": 1}}
        pipeline: list[Document] = [{"$match": {"leased": {"$in": _PLATFORMS}}}, {"$group": of_whom}]
        found = await self._mongo.aggregate(RUNS, pipeline)
        return Counter({(d["_id"]["org_id"], d["_id"]["leased"]): d["runs"] for d in found})

    async def _of(self, head: _Head, limit: int) -> list[RunKey]:
        """The first runs of a queue."""
        ahead = self.crowding.ahead
        if limit + ahead == 1:
            return [head.key]
        waiting = self._mongo.collection(RUNS).find({"queue": head.name, **_IS_TIME}, {"execution_id": 1})
        found = await waiting.sort(list(_IN_ORDER.items())).limit(limit + ahead).to_list(None)
        keys = [RunKey(document["execution_id"], document["_id"]) for document in found]
        return self.crowding.some(keys, limit)


def _head(document: Document) -> _Head:
    _, place, _ = document["_id"].split("/", 2)
    queue = OrgQueue(int(place), document["org_id"], document["claimable_at"])
    return _Head(document["_id"], queue, RunKey(document["execution_id"], document["run_id"]))
