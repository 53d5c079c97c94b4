"""Removes the steps of deleted tests, and all versions of them, a day after the deletion.

Its name and what it was for are left: histories show them, and read models are rebuilt from them.
"""

from collections.abc import Sequence

from services.catalog.model.values import Counts
from services.catalog.storage.apps import COUNTERS, MongoCounters
from services.catalog.storage.artifacts import KEPT_UNUSED
from services.catalog.storage.documents import id_condition
from services.catalog.storage.recount import SIZE_OF_VERSION
from services.catalog.storage.test_steps import NO_STEPS, TEST_STEPS, MongoTestSteps
from services.catalog.storage.tests import TEST_VERSIONS, TESTS
from services.chassis import context, logs
from services.chassis.clock import Clock
from services.chassis.context import Caller
from services.chassis.mongo import Document, Mongo, Session
from services.chassis.org_collection import OrgCollection
from services.chassis.retry import run_every

EVERY_SECONDS = 600.0
BATCH = 100
EMPTY: Document = {"steps": NO_STEPS, "positions": "", "files": []}

log = logs.get(__name__)


class DeletedTestSweeper:
    """Removes the steps of the deleted tests of all organisations. It may run in every process at the same time."""

    def __init__(self, mongo: Mongo, clock: Clock) -> None:
        self._mongo = mongo
        self._clock = clock

    async def run(self) -> None:
        """Sweep until cancelled; failures are retried in the next sweep."""
        await run_every(EVERY_SECONDS, self.sweep, log=log, event="test_sweep_failed", transient=lambda _: True)

    async def sweep(self) -> int:
        """Remove the steps of all deleted tests that are due; returns the number of tests."""
        removed = 0
        while due := await self._due():
            for org_id, test_id in due:
                with context.bind(Caller(org_id=org_id)):
                    await self._remove(test_id)
            removed += len(due)
        return removed

    async def _due(self) -> Sequence[tuple[str, str]]:
        due = {"live": False, "swept_at": None, "deleted_at": {"$lt": self._clock.now() - KEPT_UNUSED}}
        documents = await self._mongo.collection(TESTS).find(due, {"org_id": 1}).limit(BATCH).to_list(None)
        return [(document["org_id"], document["_id"]) for document in documents]

    async def _remove(self, test_id: str) -> None:
        while await self._mongo.transaction(lambda session: self._remove_versions(test_id, session)):
            pass
        swept = {"$set": {**EMPTY, "swept_at": self._clock.now()}}
        await OrgCollection(self._mongo, TESTS).update_one({"_id": test_id, "live": False}, swept)
        log.info("test_removed", org_id=context.current().org_id, test_id=test_id)

    async def _remove_versions(self, test_id: str, session: Session) -> int:
        """Remove some versions of the test, and count their bytes no more; how many."""
        some: list[Document] = [
            {"$match": {"test_id": test_id}},
            {"$limit": BATCH},
            {"$project": {"bytes": SIZE_OF_VERSION, "steps_sha256": 1}},
        ]
        collection = OrgCollection(self._mongo, TEST_VERSIONS, session)
        versions = await collection.aggregate(some)
        if versions:
            ids = id_condition([version["_id"] for version in versions])
            await collection.delete_many(ids)
            contents = MongoTestSteps(OrgCollection(self._mongo, TEST_STEPS, session))
            freed = await contents.release(v["steps_sha256"] for v in versions if "steps_sha256" in v)
            freed += sum(version["bytes"] for version in versions)
            counters = MongoCounters(OrgCollection(self._mongo, COUNTERS, session))
            await counters.add(Counts(test_bytes=-freed))
        return len(versions)
