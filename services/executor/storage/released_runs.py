"""Runs as they become claimable, from a MongoDB change stream."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pymongo.errors import PyMongoError

from mobiletest_automation.model.devices import Platform
from services.chassis.events import TransientError
from services.chassis.mongo import Document, Mongo
from services.executor.ports.runs import ReleasedRun, RunKey
from services.executor.storage.schema import RUNS

_RELEASED: list[Document] = [
    {"$match": {"operationType": {"$in": ["insert", "replace"]}, "fullDocument.queue": {"$gt": ""}}},
    {"$project": {f"fullDocument.{name}": 1 for name in ("_id", "execution_id", "org_id", "queue")}},
]


class MongoReleasedRuns:
    """The port `ReleasedRuns` on MongoDB."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo

    @asynccontextmanager
    async def watch(self) -> AsyncIterator[AsyncIterator[ReleasedRun]]:
        try:
            async with self._mongo.watch(RUNS, _RELEASED) as changes:
                yield (_released_run(change["fullDocument"]) async for change in changes)
        except PyMongoError as error:  # whatever it is, a new stream may work
            raise TransientError(repr(error)) from error


def _released_run(document: Document) -> ReleasedRun:
    platform, _, _ = document["queue"].split("/", 2)
    return ReleasedRun(RunKey(document["execution_id"], document["_id"]), document["org_id"], Platform(platform))
