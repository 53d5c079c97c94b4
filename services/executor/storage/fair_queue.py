"""Runs that wait for a worker, in the order in which they are claimed: fair between organisations.

A claimable run has a field `queue` (platform, rank, organisation), a leased run a field `leased_platform`.
Partial indexes on both contain only waiting and leased runs. The first run of each queue is found with a jump in the
index (DISTINCT_SCAN), so the cost grows with the number of waiting organisations, not of runs.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import TypeVar

from mobiletest_automation.model.devices import Platform
from services.chassis.mongo import Document, Mongo, below
from services.executor.model.claim_order import OrgQueue, rank, share_slots
from services.executor.model.runs import Run
from services.executor.ports.runs import AcceptsOrg, RunKey, accept_all
from services.executor.storage.leased_runs import LeasedRuns, LimitOf
from services.executor.storage.schema import RUNS

MAX_SERVED_ORGS = 10_000
# With this many queues or more their heads are cached.
CACHED_FROM = 50
CACHE_SECONDS = 0.25
MAX_LOOKAHEAD = 16
# After this many successful claims in a row the lookahead shrinks by one.
CALM_CLAIMS = 32
_PLATFORMS = [platform.value for platform in Platform]
_IS_TIME: Document = {"$expr": {"$lte": ["$claimable_at", "$$NOW"]}}
IN_ORDER = {"queue": 1, "claimable_at": 1, "claim_order": 1}
_FIRST_OF_EACH: Document = {
    "_id": "$queue",
    "org_id": {"$first": "$org_id"},
    "run_id": {"$first": "$_id"},
    "execution_id": {"$first": "$execution_id"},
    "claimable_at": {"$first": "$claimable_at"},
}

T = TypeVar("T")


def queue_fields(run: Run) -> Document:
    """The fields by which waiting and leased runs are found."""
    platform = run.target.platform
    if platform is None:
        return {}
    if run.lease is not None:
        return {"leased_platform": platform.value}
    return {} if run.claimable_at is None else {"queue": queue_name(platform, rank(run), run.org_id)}


def queue_name(platform: Platform, rank: int, org_id: str) -> str:
    """The queue of an organisation's runs of one rank; names sort by platform, then by rank."""
    return f"{platform.value}/{rank:02d}/{org_id}"


@dataclass(frozen=True, slots=True)
class _QueueHead:
    """A queue, its name in the documents, and its first run."""

    name: str
    queue: OrgQueue
    key: RunKey


class ClaimContention:
    """How often workers compete for the same runs, and how this worker reacts: it looks further down the queue.

    Workers that search at the same time find the same runs, and all but one of them lose. While that does not happen,
    the order of the queue is kept exactly; after each lost claim this worker chooses at random among `lookahead` more
    candidates than it needs.
    """

    def __init__(self) -> None:
        self.lookahead = 0
        self._won = 0

    def record_loss(self) -> None:
        """Another worker was faster."""
        self.lookahead = min(MAX_LOOKAHEAD, 2 * self.lookahead + 1)
        self._won = 0

    def record_win(self) -> None:
        """A claim succeeded."""
        self._won += 1
        if self._won >= CALM_CLAIMS:
            self.lookahead = max(0, self.lookahead - 1)
            self._won = 0

    def pick(self, candidates: Sequence[T], count: int) -> list[T]:
        """`count` of the candidates at random, in their order."""
        if len(candidates) <= count:
            return list(candidates)
        return [candidates[index] for index in sorted(random.sample(range(len(candidates)), count))]

    def shuffle_orgs(self, org_ids: Sequence[str]) -> dict[str, int]:
        """A random order of the organisations, so that workers do not all serve the same one first."""
        return {org_id: random.randrange(1 << 30) for org_id in org_ids}  # noqa: S311 (not a secret)


class FairQueue:
    """The waiting runs of all organisations."""

    def __init__(self, mongo: Mongo, leased: LeasedRuns, limit_of: LimitOf) -> None:
        self._mongo = mongo
        self._leased = leased
        self._limit_of = limit_of
        self._served: dict[str, int] = {}
        self._claims = 0
        self._heads: dict[Platform, tuple[list[_QueueHead], float]] = {}
        self._contention = ClaimContention()

    async def next_runs(self, platform: Platform, limit: int, accepts: AcceptsOrg = accept_all) -> list[RunKey]:
        """Up to `limit` runs that can be claimed now, in the order in which to claim them."""
        heads = [head for head in await self._queue_heads(platform) if accepts(head.queue.org_id)]
        by_queue = {head.queue: head for head in heads}
        chosen = [by_queue[queue] for queue in await self._choose(platform, list(by_queue), limit)]
        counts = Counter(head.name for head in chosen)
        self._use_up(platform, {head.queue.org_id for head in chosen})
        needed = [head for head in heads if counts[head.name]]
        first_runs = await asyncio.gather(*(self._first_runs(head, counts[head.name]) for head in needed))
        left = {head.name: iter(keys) for head, keys in zip(needed, first_runs, strict=True)}
        return [key for head in chosen if (key := next(left[head.name], None)) is not None]

    def record_claim(self, org_id: str) -> None:
        """Note that this process claimed a run of the organisation.

        A record per process is enough: it decides between organisations for slots that become free one after another
        in one process. Across workers the number of leased runs decides.
        """
        self._contention.record_win()
        self._claims += 1
        self._served.pop(org_id, None)
        self._served[org_id] = self._claims
        if len(self._served) > MAX_SERVED_ORGS:
            del self._served[next(iter(self._served))]

    def record_lost_claim(self, *, contended: bool) -> None:
        """Note that a run could not be claimed: the cached heads are outdated. `contended`: another worker has it."""
        if contended:
            self._contention.record_loss()
        self._heads.clear()

    async def oldest(self) -> datetime | None:
        """When the run that has waited longest was released; None when no run waits."""
        pipeline: list[Document] = [
            {"$match": {"queue": {"$gt": ""}}},
            {"$sort": IN_ORDER},
            {"$group": {"_id": "$queue", "claimable_at": {"$first": "$claimable_at"}}},
            {"$group": {"_id": None, "claimable_at": {"$min": "$claimable_at"}}},
        ]
        rows = await self._mongo.aggregate(RUNS, pipeline)
        return rows[0]["claimable_at"] if rows else None

    async def _queue_heads(self, platform: Platform) -> list[_QueueHead]:
        """The first run of each queue; cached briefly when there are many, because then there is enough to choose."""
        heads, until = self._heads.get(platform, ([], 0.0))
        if len(heads) < CACHED_FROM or monotonic() >= until:
            heads = await self._read_heads(platform)
            self._heads[platform] = heads, monotonic() + CACHE_SECONDS
        return heads

    def _use_up(self, platform: Platform, org_ids: Container[str]) -> None:
        """Remove the heads of these organisations from the cache, which a lost claim may have cleared meanwhile."""
        heads, until = self._heads.get(platform, ([], 0.0))
        self._heads[platform] = [head for head in heads if head.queue.org_id not in org_ids], until

    async def _read_heads(self, platform: Platform) -> list[_QueueHead]:
        pipeline: list[Document] = [
            {"$match": {"queue": below(platform.value)}},
            {"$sort": IN_ORDER},
            {"$group": _FIRST_OF_EACH},
            {"$match": _IS_TIME},
        ]
        return [_queue_head(document) for document in await self._mongo.aggregate(RUNS, pipeline)]

    async def _choose(self, platform: Platform, queues: Sequence[OrgQueue], limit: int) -> list[OrgQueue]:
        """From which queues to claim; a single organisation that is far from its limit needs no comparison."""
        limits = {queue.org_id: self._limit_of(queue.org_id) for queue in queues}
        if len(limits) <= 1 and not await self._is_any_close(limits):
            return share_slots(queues, limit)
        leased = await self._leased.count()
        left = {org: most - sum(leased[org, p] for p in _PLATFORMS) for org, most in limits.items() if most is not None}
        running = {q.org_id: leased[q.org_id, platform.value] for q in queues}
        served = self._contention.shuffle_orgs(list(running)) if self._contention.lookahead else self._served
        return share_slots(queues, limit, running=running, served=served, left=left)

    async def _is_any_close(self, limits: Mapping[str, int | None]) -> bool:
        known = [(org_id, most) for org_id, most in limits.items() if most is not None]
        return any([not await self._leased.is_far_from(org_id, most) for org_id, most in known])

    async def _first_runs(self, head: _QueueHead, count: int) -> list[RunKey]:
        """The first runs of a queue."""
        limit = count + self._contention.lookahead
        if limit == 1:
            return [head.key]
        waiting = self._mongo.collection(RUNS).find({"queue": head.name, **_IS_TIME}, {"execution_id": 1})
        documents = await waiting.sort(list(IN_ORDER.items())).limit(limit).to_list(None)
        keys = [RunKey(document["execution_id"], document["_id"]) for document in documents]
        return self._contention.pick(keys, count)


def _queue_head(document: Document) -> _QueueHead:
    _, rank_of_queue, _ = document["_id"].split("/", 2)
    queue = OrgQueue(int(rank_of_queue), document["org_id"], document["claimable_at"])
    return _QueueHead(document["_id"], queue, RunKey(document["execution_id"], document["run_id"]))
