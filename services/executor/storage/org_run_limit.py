"""The most runs of one organisation at a time, over all workers: exact, and without a count that could go astray.

Whoever claims writes the turnstile of the organisation (one of a fixed number, which organisations share) in the
transaction of the claim, and counts the organisation's leased runs in it. Two such transactions at the same time meet
in the turnstile, and one of them begins again; so no two claims count the same runs. What ends is not held up: it only
makes room, and a run whose worker was killed counts until its lease is taken away.
"""

import asyncio
from zlib import crc32

from services.chassis.mongo import Mongo, Session
from services.executor.model.lifecycle import NotClaimable
from services.executor.model.runs import Platform, Run
from services.executor.storage.schema import ORG_LOCKS, ORG_LOCKS_COUNT, RUNS

_LEASED = {"leased": {"$in": [platform.value for platform in Platform]}}


class OrgAtLimit(NotClaimable):
    """The run's organisation has as many runs under way as it may."""


class OrgRunLimit:
    """Lets runs through while their organisation has fewer than `most` under way."""

    def __init__(self, mongo: Mongo, most: int) -> None:
        self._runs = mongo.collection(RUNS)
        self._turnstiles = mongo.collection(ORG_LOCKS)
        self._most = most
        self.turn = asyncio.Lock()
        """Held by a claim of this process, so that only those of other processes can meet it."""

    async def pass_through(self, session: Session, run: Run) -> None:
        """Full when there is no room."""
        turnstile = crc32(run.org_id.encode()) % ORG_LOCKS_COUNT
        await self._turnstiles.update_one({"_id": turnstile}, {"$inc": {"claims": 1}}, session=session)
        under_way = await self._runs.count_documents({**_LEASED, "org_id": run.org_id}, session=session)
        if under_way >= self._most:
            raise OrgAtLimit(run.id)
