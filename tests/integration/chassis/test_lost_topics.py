"""A consumer whose topic is deleted and created again reads the new one from its beginning, whatever it did before."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from services.chassis.events import Event
from services.chassis.group_member import join_group
from services.chassis.producer import Producer, PublishResult
from services.chassis.topics import committed_offsets, list_partitions, open_reader
from tests.eventually import eventually
from tests.integration.chassis.consuming import consuming
from tests.unit.chassis.samples import an_event

OLD = [f"old-{number}" for number in range(10)]
NEW = [f"new-{number}" for number in range(25)]


@dataclass
class Topic:
    """A topic of one partition that can be lost, and what its consumer saw."""

    name: str
    producer: Producer
    seen: list[str] = field(default_factory=list)
    room: int = 1000

    @property
    def partition(self) -> TopicPartition:
        return TopicPartition(self.name, 0)

    async def handle(self, events: list[Event]) -> None:
        self.seen += [event.key for event in events]

    async def publish(self, keys: list[str]) -> None:
        """Each until the broker has it."""
        for key in keys:
            await eventually(lambda key=key: self._published(key))  # type: ignore[misc]

    async def _published(self, key: str) -> bool:
        return isinstance((await self.producer.publish([an_event(self.name, key=key)]))[0], PublishResult)

    async def sees(self, keys: list[str]) -> None:
        await eventually(lambda: set(keys) <= set(self.seen))

    async def lose(self) -> None:
        """Delete and create it, and publish more than it had before."""
        admin = AIOKafkaAdminClient(bootstrap_servers=self.producer.kafka)
        await admin.start()
        try:
            await admin.delete_topics([self.name])
            await eventually(self._is_gone)
            await admin.create_topics([NewTopic(self.name, 1, 1)])
        finally:
            await admin.close()
        await self.publish(NEW)

    async def _is_gone(self) -> bool:
        return self.partition not in await list_partitions(self.producer.kafka)

    async def committed(self) -> int:
        return (await committed_offsets(self.producer.kafka, f"{self.name}-group", [self.partition]))[self.partition]


@pytest.fixture
async def topic(kafka_bootstrap: str, topic_suffix: str) -> AsyncIterator[Topic]:
    name = f"lost-{topic_suffix}"
    async with Producer(kafka_bootstrap, {name: 1}, idempotence=False, timeout=5.0) as producer:
        yield Topic(name, producer)


async def test_a_consumer_that_was_paused_reads_the_new_topic_from_its_beginning(topic: Topic) -> None:
    """Its membership and its position last over the pause."""
    join = partial(join_group, topic_seconds=1.0)
    async with consuming(topic.producer, topic.name, topic.handle, join=join, capacity=lambda: topic.room) as consumer:
        await topic.publish(OLD)
        await topic.sees(OLD)
        topic.room = 0
        await topic.lose()
        topic.room = 1000
        consumer.wake()
        await topic.sees(NEW)
        await eventually(lambda: _is(topic.committed, len(NEW)))


async def test_a_consumer_that_reads_on_reads_the_new_topic_from_its_beginning(topic: Topic) -> None:
    async with consuming(topic.producer, topic.name, topic.handle, join=partial(join_group, topic_seconds=1.0)):
        await topic.publish(OLD)
        await topic.sees(OLD)
        await topic.lose()
        await topic.sees(NEW)


async def test_a_consumer_that_was_stopped_reads_the_new_topic_from_its_beginning(topic: Topic) -> None:
    async with consuming(topic.producer, topic.name, topic.handle):
        await topic.publish(OLD)
        await topic.sees(OLD)
        await eventually(lambda: _is(topic.committed, len(OLD)))
    await topic.lose()
    assert await topic.committed() == 0
    async with consuming(topic.producer, topic.name, topic.handle):
        await topic.sees(NEW)


async def _is(read: object, expected: int) -> bool:
    return await read() == expected  # type: ignore[operator]


async def test_a_topic_is_not_created_by_asking_for_it(kafka_bootstrap: str, topic: Topic) -> None:
    """The broker would choose its partitions, before those who know them create it."""
    name = f"{topic.name}-unknown"
    assert await list_partitions(kafka_bootstrap, [name]) == set()
    async with open_reader(kafka_bootstrap) as consumer:
        await consumer._client.add_topic(name)
        assert name not in await consumer.topics()
