"""The limit of concurrent runs per organisation, enforced exactly over all workers and without a counter.

A claim writes the lock document of its organisation (organisations share a fixed number of them) in its transaction,
and counts the organisation's leased runs there. Of two such transactions at the same time one conflicts and is
retried, so no two claims count the same runs. A run that ends needs no lock, because it only makes room; a run whose
worker died counts until its lease expires.
"""

import asyncio
from zlib import crc32

from services.chassis.mongo import Mongo, Session
from services.executor.model.lifecycle import NotClaimable
from services.executor.model.runs import Platform, Run
from services.executor.storage.schema import ORG_LOCKS, ORG_LOCKS_COUNT, RUNS

_LEASED = {"leased": {"$in": [platform.value for platform in Platform]}}


class OrgAtLimit(NotClaimable):
    """The organisation already has the maximum number of running runs."""


class OrgRunLimit:
    """Allows a claim while the organisation has fewer than `limit` leased runs."""

    def __init__(self, mongo: Mongo, limit: int) -> None:
        self._runs = mongo.collection(RUNS)
        self._org_locks = mongo.collection(ORG_LOCKS)
        self._limit = limit
        self.claim_lock = asyncio.Lock()
        """Serialises the claims of this process, so that only those of other processes can conflict."""

    async def check(self, session: Session, run: Run) -> None:
        """Raises OrgAtLimit when the run may not be claimed now."""
        lock_id = crc32(run.org_id.encode()) % ORG_LOCKS_COUNT
        await self._org_locks.update_one({"_id": lock_id}, {"$inc": {"claims": 1}}, session=session)
        leased = await self._runs.count_documents({**_LEASED, "org_id": run.org_id}, session=session)
        if leased >= self._limit:
            raise OrgAtLimit(run.id)
