"""One organisation never sees, changes or counts what is another's."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from services.chassis.context import Caller, bind
from services.chassis.errors import InvalidArgument
from services.chassis.mongo import Mongo, Session
from services.chassis.mongo_errors import DuplicateValue
from services.chassis.org_collection import OrgCollection

ALICE, BOB = Caller("org-a"), Caller("org-b")


@pytest.fixture
async def apps(mongo: Mongo) -> OrgCollection:
    """Bob's collection has one app, b1; Alice's has none."""
    tenant = OrgCollection(mongo, "apps")
    with bind(BOB):
        await tenant.insert_one({"_id": "b1", "name": "bob's"})
    return tenant


async def _find(apps: OrgCollection) -> object:
    return await apps.find({"_id": "b1"}).to_list(None)


async def _find_raw(apps: OrgCollection) -> object:
    return [raw async for batch in apps.find_raw({"_id": "b1"}, most=1024) for raw in batch]


READS: dict[str, Callable[[OrgCollection], Awaitable[Any]]] = {
    "find": _find,
    "find_raw": _find_raw,
    "find_one": lambda apps: apps.find_one({"_id": "b1"}),
    "count_documents": lambda apps: apps.count_documents({"_id": "b1"}),
    "aggregate": lambda apps: apps.aggregate([{"$match": {"_id": "b1"}}]),
}
WRITES: dict[str, Callable[[OrgCollection], Awaitable[Any]]] = {
    "update_one": lambda apps: apps.update_one({"_id": "b1"}, {"$set": {"name": "x"}}),
    "update_many": lambda apps: apps.update_many({}, {"$set": {"name": "x"}}),
}


@pytest.mark.parametrize("operation", READS)
async def test_reads_are_limited_to_the_organisation(apps: OrgCollection, operation: str) -> None:
    with bind(ALICE):
        assert not await READS[operation](apps)
    with bind(BOB):
        assert await READS[operation](apps)


@pytest.mark.parametrize("operation", WRITES)
async def test_writes_are_limited_to_the_organisation(apps: OrgCollection, operation: str) -> None:
    with bind(ALICE):
        assert not await WRITES[operation](apps)
    with bind(BOB):
        assert await apps.find_one({"_id": "b1", "name": "bob's"})
        assert await WRITES[operation](apps)


@pytest.mark.parametrize("operation", ["insert_one", "put"])
async def test_an_id_of_another_organisation_is_in_use(apps: OrgCollection, operation: str) -> None:
    with bind(ALICE), pytest.raises(DuplicateValue):
        await getattr(apps, operation)({"_id": "b1", "name": "x"})
    with bind(BOB):
        assert await apps.find_one({"_id": "b1", "name": "bob's"})


async def test_a_document_is_put_in_place_of_the_one_with_its_id(apps: OrgCollection) -> None:
    with bind(BOB):
        await apps.put({"_id": "b1", "name": "x"})
        assert await apps.count_documents() == await apps.count_documents({"name": "x"}) == 1


async def test_a_read_brings_no_more_than_its_most_bytes(apps: OrgCollection) -> None:
    with bind(BOB), pytest.raises(InvalidArgument, match="ask for less at once"):
        _ = [batch async for batch in apps.find_raw({}, most=10)]


async def test_writes_in_a_session_are_undone_with_its_transaction(apps: OrgCollection, mongo: Mongo) -> None:
    async def work(session: Session) -> None:
        within = OrgCollection(mongo, "apps", session)
        await within.insert_one({"_id": "b2"})
        await within.put({"_id": "b3"})
        await within.update_many({}, {"$set": {"name": "x"}})
        await within.delete_one({"_id": "b1"})
        assert await within.count_documents({"name": "x"}) == 2
        raise _UndoneError

    with bind(BOB):
        with pytest.raises(_UndoneError):
            await mongo.transaction(work)
        assert await apps.count_documents() == await apps.count_documents({"name": "bob's"}) == 1


class _UndoneError(Exception):
    pass


async def test_inserted_documents_belong_to_the_callers_organisation(apps: OrgCollection, mongo: Mongo) -> None:
    with bind(ALICE):
        await apps.insert_one({"_id": "a1"})
    owners = {row["_id"]: row["org_id"] for row in await mongo.collection("apps").find({}).to_list(None)}
    assert owners == {"a1": "org-a", "b1": "org-b"}


async def test_a_document_of_another_organisation_is_refused(apps: OrgCollection) -> None:
    with bind(ALICE), pytest.raises(ValueError, match="another organisation"):
        await apps.insert_one({"_id": "a1", "org_id": "org-b"})


async def test_a_filter_on_the_organisation_is_refused(apps: OrgCollection) -> None:
    with bind(ALICE), pytest.raises(ValueError, match="comes from the caller"):
        await apps.find_one({"org_id": "org-b"})


async def test_a_caller_without_organisation_is_refused(apps: OrgCollection) -> None:
    with bind(Caller("")), pytest.raises(LookupError):
        await apps.find_one({})
    with pytest.raises(LookupError):
        await apps.find_one({})
