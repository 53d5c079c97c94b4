"""Moves steps that tests and versions have themselves to where equal ones are stored once (see `test_steps`).

Versions of the service before that cannot read steps there. So nothing is written there until they have ended.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from uuid import uuid4

from services.catalog.model.tests import VERSION_BYTES
from services.catalog.model.values import Counts
from services.catalog.storage.apps import COUNTERS, MongoCounters
from services.catalog.storage.documents import IS_LIVE
from services.catalog.storage.recount import recount_alone
from services.catalog.storage.test_steps import TEST_STEPS, MongoTestSteps, shared_fields
from services.catalog.storage.tests import TEST_VERSIONS, TESTS, version_id
from services.chassis import context, logs
from services.chassis.clock import Clock
from services.chassis.context import Caller
from services.chassis.leases import MongoLease
from services.chassis.migrations import applied_at
from services.chassis.mongo import Document, Mongo, Session
from services.chassis.org_collection import OrgCollection
from services.chassis.retry import run_every

# The migration that makes a database, and the one since which equal steps are stored once.
FIRST, SHARED = "0001_schema", "0005_test_steps"
# For so long after the migration older processes may run.
ROLLOUT = timedelta(hours=1)
EVERY_SECONDS = 600.0
LEASE_SECONDS = 300.0
BATCH = 100
# The indexes of tests and versions that have their steps themselves.
INLINE = "inline"
HAS_STEPS: Document = {"steps": {"$gt": ""}}

log = logs.get(__name__)


async def sharing_since(mongo: Mongo) -> datetime:
    """From when on steps are stored where equal ones are: at once if no older version has used the database."""
    first, shared = await applied_at(mongo, FIRST), await applied_at(mongo, SHARED)
    return shared if shared - first < ROLLOUT else shared + ROLLOUT


class InlineStepsSweeper:
    """Moves the steps of all organisations, one version or test at a time, in one process."""

    def __init__(self, mongo: Mongo, clock: Clock, since: datetime) -> None:
        self._mongo = mongo
        self._clock = clock
        self._since = since
        self._lease = MongoLease(mongo, "inline steps", str(uuid4()), seconds=LEASE_SECONDS)

    async def run(self) -> None:
        """Sweep until cancelled; a sweep that fails is continued by the next one."""
        await run_every(EVERY_SECONDS, self.sweep, log=log, event="step_sweep_failed", transient=lambda _: True)

    async def sweep(self) -> int:
        """Move all steps that are due, those of versions first; returns the number of tests and versions.

        Older versions did not count what they stored, so all is counted again after their steps are moved.
        """
        if self._clock.now() < self._since:
            return 0
        moved = await self._move_all(TEST_VERSIONS, {}, self._move_version)
        moved += await self._move_all(TESTS, IS_LIVE, self._move_test)
        await self._lease.release()
        if moved:
            await recount_alone(self._mongo)
        return moved

    async def _move_all(self, name: str, condition: Document, move: Callable[[str, Session], Awaitable[int]]) -> int:
        moved, last = 0, 1
        while last and await self._lease.acquire():
            cursor = self._mongo.collection(name).find({**condition, **HAS_STEPS}, {"org_id": 1}).limit(BATCH)
            last = 0
            for document in await cursor.hint(INLINE).to_list(None):
                with context.bind(Caller(org_id=document["org_id"])):
                    last += await self._mongo.transaction(partial(move, document["_id"]))
            moved += last
        return moved

    async def _move_version(self, id: str, session: Session) -> int:
        versions = self._rows(TEST_VERSIONS, session)
        document = await versions.find_one({"_id": id, **HAS_STEPS})
        if document is None:
            return 0
        fields = shared_fields(document["steps"])
        counted = document.get("bytes", VERSION_BYTES * (1 + len(document["files"])) + fields["steps_bytes"])
        taken = await MongoTestSteps(self._rows(TEST_STEPS, session)).use(document["steps"])
        await versions.update_one({"_id": id}, {"$set": {**fields, "bytes": counted - fields["steps_bytes"]}})
        freed = Counts(test_bytes=taken - fields["steps_bytes"])
        await MongoCounters(self._rows(COUNTERS, session)).add(freed)
        return 1

    async def _move_test(self, id: str, session: Session) -> int:
        tests, versions = self._rows(TESTS, session), self._rows(TEST_VERSIONS, session)
        test = await tests.find_one({"_id": id, **IS_LIVE, **HAS_STEPS})
        if test is None:
            return 0
        fields = shared_fields(test["steps"])
        version = {"_id": version_id(id, test["version_number"]), "steps_sha256": fields["steps_sha256"]}
        return await tests.update_one({"_id": id}, {"$set": fields}) if await versions.count_documents(version) else 0

    def _rows(self, name: str, session: Session) -> OrgCollection:
        return OrgCollection(self._mongo, name, session)
