"""Counts again what the counters of organisations say, which drift only while an older version runs beside this one."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any
from uuid import uuid4

from services.catalog.model.tests import VERSION_BYTES
from services.catalog.model.values import Counts, Platform
from services.catalog.storage.apps import APPS, COUNTERS, MongoCounters
from services.catalog.storage.builds import BUILDS
from services.catalog.storage.documents import IS_LIVE
from services.catalog.storage.keys import ORGANISATIONS
from services.catalog.storage.test_steps import TEST_STEPS
from services.catalog.storage.tests import TEST_VERSIONS, TESTS
from services.catalog.storage.workflows import WORKFLOWS
from services.chassis import context, logs
from services.chassis.context import Caller
from services.chassis.leases import MongoLease
from services.chassis.mongo import Document, Mongo, Session
from services.chassis.org_collection import OrgCollection

LEASE_SECONDS = 3600.0

log = logs.get(__name__)

_FILES = {"$size": {"$ifNull": ["$files", []]}}
_UNCOUNTED = {"$add": [VERSION_BYTES, {"$multiply": [VERSION_BYTES, _FILES]}, {"$strLenBytes": "$steps"}]}
# Versions that were stored before they were counted do not say their size. Their positions may move: they count
# nothing.
SIZE_OF_VERSION: Document = {"$ifNull": ["$bytes", _UNCOUNTED]}


async def recount_alone(mongo: Mongo, org_id: str | None = None) -> Mapping[str, Mapping[str, int]] | None:
    """`recount_all`, unless another process does it: None."""
    lease = MongoLease(mongo, "recount", str(uuid4()), seconds=LEASE_SECONDS)
    if not await lease.acquire():
        return None
    try:
        return await recount_all(mongo, org_id)
    finally:
        await lease.release()


async def recount_all(mongo: Mongo, org_id: str | None = None) -> Mapping[str, Mapping[str, int]]:
    """Correct the counters of all organisations, or of one; by organisation, what was missing (negative: too much)."""
    missing = {}
    for id in [org_id] if org_id else await _organisations(mongo):
        with context.bind(Caller(org_id=id)):
            if numbers := {name: number for name, number in asdict(await recount(mongo)).items() if number}:
                missing[id] = numbers
                log.info("counters_corrected", org_id=id, **numbers)
    return missing


async def recount(mongo: Mongo) -> Counts:
    """Correct the counters of the caller's organisation; what was missing.

    Both are read at one moment, so what is added meanwhile is not counted twice. Only one process may do it at a time.
    """

    async def read(session: Session) -> Counts:
        counted = asdict(await MongoCounters(OrgCollection(mongo, COUNTERS, session)).get())
        counts = await _count(mongo, session)
        return Counts(**{name: counts.get(name, 0) - number for name, number in counted.items()})

    missing = await mongo.snapshot(read)
    await MongoCounters(OrgCollection(mongo, COUNTERS)).add(missing)
    return missing


async def _count(mongo: Mongo, session: Session) -> Mapping[str, int]:
    async def live(name: str, condition: Mapping[str, Any] | None = None) -> int:
        return await OrgCollection(mongo, name, session).count_documents({**(condition or {}), **IS_LIVE})

    async def size(name: str, of: Any) -> int:
        total = {"$group": {"_id": None, "bytes": {"$sum": of}}}
        sums = await OrgCollection(mongo, name, session).aggregate([total])
        return int(sums[0]["bytes"]) if sums else 0

    return {
        "ios": await live(APPS, {"platform": Platform.IOS.value}),
        "android": await live(APPS, {"platform": Platform.ANDROID.value}),
        "tests": await live(TESTS),
        "workflows": await live(WORKFLOWS),
        "builds": await live(BUILDS),
        "test_bytes": await size(TEST_VERSIONS, SIZE_OF_VERSION) + await size(TEST_STEPS, "$bytes"),
    }


async def _organisations(mongo: Mongo) -> Sequence[str]:
    by_id = mongo.collection(ORGANISATIONS).find({}, {"_id": 1}).sort("_id", 1)
    return [row["_id"] for row in await by_id.to_list(None)]
