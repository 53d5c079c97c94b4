"""How many runs each organisation has in progress, and whether it may have one more."""

from collections import Counter
from collections.abc import Callable
from time import monotonic
from zlib import crc32

from mobiletest_automation.model.devices import Platform
from services.chassis.mongo import Document, Mongo, Session
from services.executor.model.lifecycle import NotClaimable
from services.executor.model.runs import Run
from services.executor.storage.schema import ORG_LOCKS, ORG_LOCKS_COUNT, RUNS

# A smaller limit is never exceeded. A larger one is checked exactly as soon as half of it is in use, so runs that many
# workers claim within half a second may exceed it.
EXACT_BELOW = 64
RECENT_SECONDS = 0.5
_PLATFORMS = [platform.value for platform in Platform]
IS_LEASED: Document = {"leased_platform": {"$in": _PLATFORMS}}

# The maximum number of runs in progress of an organisation; None: any number.
LimitOf = Callable[[str], int | None]


class LeasedRuns:
    """Counts the runs in progress of all organisations."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo
        self._recent: Counter[str] = Counter()
        self._until = 0.0

    async def count(self) -> Counter[tuple[str, str]]:
        """How many runs are leased now, by organisation and platform."""
        by_org = {"_id": {"org_id": "$org_id", "platform": "$leased_platform"}, "runs": {"$sum": 1}}
        rows = await self._mongo.aggregate(RUNS, [{"$match": IS_LEASED}, {"$group": by_org}])
        counts = Counter({(d["_id"]["org_id"], d["_id"]["platform"]): d["runs"] for d in rows})
        self._recent = Counter()
        for (org_id, _), runs in counts.items():
            self._recent[org_id] += runs
        self._until = monotonic() + RECENT_SECONDS
        return counts

    async def is_far_from(self, org_id: str, limit: int) -> bool:
        """Whether the organisation had less than half of the limit half a second ago; never for a small limit."""
        if limit < EXACT_BELOW:
            return False
        if monotonic() >= self._until:
            await self.count()
        return 2 * self._recent[org_id] < limit

    def record_claim(self, org_id: str) -> None:
        """Note that this process claims a run."""
        self._recent[org_id] += 1


class OrgAtLimit(NotClaimable):
    """The organisation already has the maximum number of running runs."""


class OrgRunLimit:
    """Allows a claim while the organisation has fewer leased runs than its limit, over all workers.

    Close to the limit, a claim writes the lock document of its organisation (organisations share a fixed number of
    them) in its transaction, and counts the organisation's leased runs there. Of two such transactions at the same time
    one conflicts and is retried, so no two claims count the same runs. A run that ends needs no lock, because it only
    makes room; a run whose worker died counts until its lease expires.
    """

    def __init__(self, mongo: Mongo, leased: LeasedRuns, limit_of: LimitOf) -> None:
        self._runs = mongo.collection(RUNS)
        self._mongo = mongo
        self._leased = leased
        self._limit_of = limit_of

    async def check(self, session: Session, run: Run, more: int) -> None:
        """Check the limit. `more`: how many more runs of the organisation are leased in the same transaction.

        Raises:
            OrgAtLimit: the run may not be claimed now.
        """
        limit = self._limit_of(run.org_id)
        if limit is None:
            return
        if await self._leased.is_far_from(run.org_id, limit):
            self._leased.record_claim(run.org_id)
            return
        await lock_organisation(self._mongo, session, run.org_id)
        leased = await self._runs.count_documents({**IS_LEASED, "org_id": run.org_id}, session=session)
        if leased + more >= limit:
            raise OrgAtLimit(run.id)


async def lock_organisation(mongo: Mongo, session: Session, org_id: str) -> None:
    """Of transactions at the same time that lock one organisation, all but one conflict and are retried."""
    lock_id = crc32(org_id.encode()) % ORG_LOCKS_COUNT
    await mongo.collection(ORG_LOCKS).update_one({"_id": lock_id}, {"$inc": {"acquisitions": 1}}, session=session)
