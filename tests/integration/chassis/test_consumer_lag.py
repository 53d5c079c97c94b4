"""How far a group is behind, asked from outside of it."""

from uuid import uuid4

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from services.chassis.clock import SystemClock
from services.chassis.consumer_lag import GroupProgress
from services.chassis.errors import Unavailable
from services.chassis.events import Event
from services.chassis.producer import Producer, PublishResult


async def published(bootstrap: str, topic: str, count: int) -> list[PublishResult]:
    """So many events on a topic of two partitions."""
    events = [
        Event(topic, str(number), "a.Type", "a-test", str(uuid4()), SystemClock().now(), b"payload")
        for number in range(count)
    ]
    async with Producer(bootstrap, {topic: 2}, idempotence=False) as producer:
        results = await producer.publish(events)
    return [result for result in results if isinstance(result, PublishResult)]


async def committed(bootstrap: str, group: str, offsets: dict[TopicPartition, int]) -> None:
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False)
    await consumer.start()
    try:
        consumer.assign(list(offsets))
        await consumer.commit({place: OffsetAndMetadata(offset, "") for place, offset in offsets.items()})
    finally:
        await consumer.stop()


async def test_a_group_is_behind_until_it_has_committed_everything(kafka_bootstrap: str, topic_suffix: str) -> None:
    topic, group = f"events-{topic_suffix}", f"group-{topic_suffix}"
    results = await published(kafka_bootstrap, topic, 10)
    assert len(results) == 10
    progress = GroupProgress(kafka_bootstrap, group, [topic])
    ends = await progress.ends()
    assert ends.keys() == {TopicPartition(topic, 0), TopicPartition(topic, 1)}
    assert await progress.behind(ends) >= 10
    places: dict[TopicPartition, int] = {}
    for result in results:
        place = TopicPartition(topic, result.partition)
        places[place] = max(places.get(place, 0), result.offset + 1)
    await committed(kafka_bootstrap, group, places)
    assert await progress.behind(ends) == 0
    assert await progress.behind({name: end + 5 for name, end in ends.items()}) == 0  # there is nothing to read there


async def test_a_missing_topic_has_no_end_offsets(kafka_bootstrap: str, topic_suffix: str) -> None:
    progress = GroupProgress(kafka_bootstrap, f"group-{topic_suffix}", [f"nothing-{topic_suffix}"])
    ends = await progress.ends()
    assert await progress.behind(ends) == 0


async def test_an_absent_broker_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        await GroupProgress("127.0.0.1:9", "group", ["topic"]).ends()
