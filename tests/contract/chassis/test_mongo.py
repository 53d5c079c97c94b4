import asyncio

import pytest
from pymongo.errors import DuplicateKeyError, PyMongoError

from services.chassis.errors import Unavailable
from services.chassis.mongo import Document, Driver, Mongo, Session
from services.chassis.mongo_errors import as_unavailable
from tests.eventually import stop

NOWHERE = "mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=50"


async def test_a_transaction_is_atomic_and_returns_its_result(mongo: Mongo) -> None:
    async def work(session: Session) -> str:
        await mongo.collection("a").insert_one({"_id": 1}, session=session)
        await mongo.collection("b").insert_one({"_id": 1}, session=session)
        return "done"

    assert await mongo.transaction(work) == "done"
    assert await mongo.collection("a").count_documents({}) == 1
    assert await mongo.collection("b").count_documents({}) == 1


async def test_a_failed_transaction_is_rolled_back(mongo: Mongo) -> None:
    async def work(session: Session) -> None:
        await mongo.collection("a").insert_one({"_id": 1}, session=session)
        raise LookupError("no")

    with pytest.raises(LookupError):
        await mongo.transaction(work)
    assert await mongo.collection("a").count_documents({}) == 0


async def test_conflicting_transactions_are_retried(mongo: Mongo) -> None:
    counters = mongo.collection("counters")
    await counters.insert_one({"_id": 1, "n": 0})

    async def add_one(session: Session) -> None:
        document = await counters.find_one({"_id": 1}, session=session)
        await counters.update_one({"_id": 1}, {"$set": {"n": document["n"] + 1}}, session=session)

    await asyncio.gather(*(mongo.transaction(add_one) for _ in range(8)))
    assert (await counters.find_one({"_id": 1}))["n"] == 8


async def test_a_data_error_is_not_retried(mongo: Mongo) -> None:
    runs = 0

    async def work(session: Session) -> None:
        nonlocal runs
        runs += 1
        await mongo.collection("a").insert_many([{"_id": 1}, {"_id": 1}], session=session)

    with pytest.raises(PyMongoError):
        await mongo.transaction(work)
    assert runs == 1


async def test_reads_and_writes_use_majority_concern(mongo: Mongo) -> None:
    assert mongo.database.write_concern.document == {"w": "majority", "j": True}
    assert mongo.database.read_concern.level == "majority"


async def test_aggregate_returns_all_documents(mongo: Mongo) -> None:
    await mongo.collection("a").insert_many([{"_id": n} for n in range(250)])
    rows = await mongo.aggregate("a", [{"$match": {"_id": {"$gte": 50}}}, {"$sort": {"_id": 1}}])
    assert [row["_id"] for row in rows] == list(range(50, 250))


async def test_changes_are_watched(mongo: Mongo) -> None:
    async with mongo.watch("a", [{"$match": {"operationType": "insert"}}]) as changes:
        await mongo.collection("a").insert_one({"_id": 7})
        change: Document = await anext(changes)
    assert change["documentKey"] == {"_id": 7}


async def test_an_absent_database_is_unavailable_with_retry_after(mongo_driver: Driver) -> None:
    mongo = Mongo.unconnected(NOWHERE, "db", mongo_driver)
    with pytest.raises(PyMongoError) as error:
        await mongo.collection("a").find_one({})
    await mongo.close()
    domain_error = as_unavailable(error.value)
    assert isinstance(domain_error, Unavailable)
    assert domain_error.retry_after == 1.0


async def test_readiness_fails_at_once_without_a_primary(mongo_driver: Driver) -> None:
    mongo = Mongo.unconnected(NOWHERE, "db", mongo_driver)
    with pytest.raises(Unavailable):
        await mongo.ping()
    await mongo.close()


async def test_connect_waits_for_an_absent_database(mongo_driver: Driver) -> None:
    connecting = asyncio.create_task(Mongo.connect(NOWHERE, "db", mongo_driver))
    _, pending = await asyncio.wait([connecting], timeout=0.2)
    assert pending
    await stop(connecting)


async def test_a_data_error_is_not_unavailable(mongo: Mongo) -> None:
    await mongo.collection("a").insert_one({"_id": 1})
    with pytest.raises(DuplicateKeyError) as error:
        await mongo.collection("a").insert_one({"_id": 1})
    assert as_unavailable(error.value) is None
