"""Producer and consumer on a broker."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from services.chassis import metrics
from services.chassis.consumer import Consumer, Handler
from services.chassis.dead_letters.limit import DlqLimit
from services.chassis.dead_letters.replay import read_letters
from services.chassis.events import Event
from services.chassis.producer import MAX_MESSAGE_BYTES, Producer, PublishResult, Record
from services.chassis.topics import open_reader
from tests.eventually import eventually
from tests.integration.chassis.consuming import consumer_of, consuming
from tests.unit.chassis.samples import an_event

# What a broker takes by default: message.max.bytes.
APACHE_KAFKA_BYTES = 1_048_588


@dataclass
class Bench:
    """A topic of the test's own, a producer, and consumers that collect what they are given."""

    bootstrap: str
    topic: str
    producer: Producer
    events: list[Event] = field(default_factory=list)

    async def handle(self, events: list[Event]) -> None:
        self.events += events

    @property
    def ids(self) -> list[str]:
        return [event.id for event in self.events]

    def consuming(
        self, group: str = "group", handler: Handler | None = None, **options: Any
    ) -> AbstractAsyncContextManager[Consumer]:
        return consuming(self.producer, self.topic, handler or self.handle, group=group, **options)

    async def publish(self, count: int, *, start: int = 0) -> list[str]:
        events = [an_event(self.topic, key=str(n)) for n in range(start, start + count)]
        results = await self.producer.publish(events)
        assert all(isinstance(result, PublishResult) for result in results), results
        return [event.id for event in events]


@pytest.fixture
async def bench(kafka_bootstrap: str, topic_suffix: str) -> AsyncIterator[Bench]:
    topic = f"chassis-{topic_suffix}"
    async with Producer(kafka_bootstrap, {topic: 3}, idempotence=False) as producer:
        yield Bench(kafka_bootstrap, topic, producer)


async def test_a_group_continues_at_its_committed_offsets(bench: Bench) -> None:
    async with bench.consuming():
        first = await bench.publish(10)
        await eventually(lambda: len(bench.events) >= 10)
    second = await bench.publish(10, start=10)
    async with bench.consuming():
        await eventually(lambda: len(bench.events) >= 20)
    assert Counter(bench.ids) == Counter(first + second)


async def test_each_group_gets_everything_from_the_beginning(bench: Bench) -> None:
    sent = await bench.publish(5)
    async with bench.consuming("a"), bench.consuming("b"):
        await eventually(lambda: len(bench.events) >= 10)
    assert Counter(bench.ids) == Counter(sent * 2)


async def test_events_that_were_not_handled_are_delivered_again(bench: Bench) -> None:
    async def refuse(_: list[Event]) -> None:
        raise ValueError("a bug")

    await bench.publish(3)
    with pytest.raises(ValueError, match="a bug"):
        await consumer_of(bench.producer, bench.topic, refuse).run()
    async with bench.consuming():
        await eventually(lambda: len(bench.events) >= 3)


async def test_members_of_a_group_share_the_work(bench: Bench) -> None:
    seen: list[set[str]] = [set(), set()]

    def handler(index: int) -> Handler:
        async def handle(events: list[Event]) -> None:
            seen[index] |= {event.id for event in events}
            bench.events += events

        return handle

    async with bench.consuming(handler=handler(0)), bench.consuming(handler=handler(1)):
        sent: list[str] = []

        async def both_work() -> bool:
            sent.extend(await bench.publish(30, start=len(sent)))
            return all(seen)

        await eventually(both_work, every=0.2)
        await eventually(lambda: set(sent) <= set(bench.ids))


async def test_a_dead_letter_that_is_too_large_is_published_without_its_value(bench: Bench) -> None:
    """Too large for the client, on Tansu; on Apache Kafka for the broker, whose limit is lower."""
    huge = (Record(bench.topic, b"k", b"x" * (limit - 200), []) for limit in (MAX_MESSAGE_BYTES, APACHE_KAFKA_BYTES))
    results = [(await bench.producer.publish_records([each]))[0] for each in huge]
    assert any(isinstance(result, PublishResult) for result in results)
    sent = await bench.publish(5)
    async with bench.consuming():
        await eventually(lambda: set(sent) <= set(bench.ids))
    async with open_reader(bench.bootstrap) as reader:
        letters = [letter async for letter in read_letters(bench.bootstrap, reader, f"{bench.topic}.dlq")]
    cut = [letter for letter in letters if letter.cut]
    assert [(letter.reason, letter.record.value) for letter in cut] == [("MISSING_HEADER", b"")]


async def test_a_message_that_is_too_large_fails_alone(bench: Bench) -> None:
    large = Record(bench.topic, b"k", b"x" * (MAX_MESSAGE_BYTES + 1), [])
    fine = Record(bench.topic, b"k", b"x", [])
    first, second = await bench.producer.publish_records([large, fine])
    assert isinstance(first, Exception)
    assert isinstance(second, PublishResult)


async def test_a_held_partition_resumes_when_the_cause_is_fixed(bench: Bench) -> None:
    """A bug on every event of one partition: nothing of it is dead-lettered, the others go on, nothing is lost."""
    results = await bench.producer.publish([an_event(bench.topic, key="poison", id_=f"bad-{n}") for n in range(20)])
    broken = next(result.partition for result in results if isinstance(result, PublishResult))
    state = {"broken": True}

    async def handle(events: list[Event]) -> None:
        if state["broken"] and any(event.key == "poison" for event in events):
            raise KeyError("a bug")
        await bench.handle(events)

    limit = DlqLimit(share=0.5, window=10)
    async with bench.consuming(handler=handle, dlq_limit=limit, hold_seconds=0.5):
        await eventually(lambda: held(bench, broken) == 1)
        others = await bench.publish(30)
        state["broken"] = False
        await eventually(lambda: len(set(bench.ids)) == 50)
        await eventually(lambda: held(bench, broken) is None)
    assert set(others) < set(bench.ids)
    async with open_reader(bench.bootstrap) as reader:
        assert [letter async for letter in read_letters(bench.bootstrap, reader, f"{bench.topic}.dlq")] == []


def held(bench: Bench, partition: int) -> float | None:
    labels = {"topic": bench.topic, "partition": str(partition), "group": f"{bench.topic}-group"}
    return metrics.REGISTRY.get_sample_value("mobiletest_kafka_partition_held", labels)


async def test_nothing_is_fetched_without_capacity_until_wake(bench: Bench) -> None:
    room = [0]
    async with bench.consuming(capacity=lambda: room[0]) as consumer:
        await bench.publish(4)
        await eventually(lambda: consumer.poll_age() < 0.5)
        assert bench.events == []
        room[0] = 2
        consumer.wake()
        await eventually(lambda: len(bench.events) == 4)


async def test_dead_letters_are_kept_for_a_month(bench: Bench) -> None:
    await bench.publish(1)
    admin = AIOKafkaAdminClient(bootstrap_servers=bench.bootstrap)
    await admin.start()
    try:
        asked = [ConfigResource(ConfigResourceType.TOPIC, f"{bench.topic}.dlq")]
        (response,) = await admin.describe_configs(asked)
    finally:
        await admin.close()
    ((*_, entries),) = response.resources
    assert {entry[0]: entry[1] for entry in entries}["retention.ms"] == str(30 * 24 * 3600 * 1000)
