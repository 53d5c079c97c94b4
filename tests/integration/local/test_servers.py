"""What every other suite relies on: the parts that the fixtures hand out."""

from uuid import uuid4

from aiokafka import AIOKafkaProducer
from pymongo import AsyncMongoClient


async def test_mongo_runs_transactions_and_change_streams(mongo_uri: str, mongo_database: str) -> None:
    async with AsyncMongoClient[dict[str, object]](mongo_uri) as client:
        collection = client[mongo_database].runs
        async with await collection.watch() as stream, client.start_session() as session:
            async with await session.start_transaction():
                await collection.insert_one({"_id": "a"}, session=session)
            change = await stream.next()
    assert change["documentKey"] == {"_id": "a"}


async def test_the_broker_takes_messages(kafka_bootstrap: str, topic_suffix: str) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=kafka_bootstrap)
    await producer.start()
    try:
        sent = await producer.send_and_wait(f"topic-{topic_suffix}", uuid4().bytes)
    finally:
        await producer.stop()
    assert sent.offset == 0


def test_each_test_has_its_own_database(mongo_database: str, topic_suffix: str) -> None:
    assert mongo_database.startswith("test_")
    assert topic_suffix
