"""How far a consumer group is behind the ends of its topics, seen from outside the group."""

from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from time import monotonic
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from services.chassis.errors import Unavailable
from services.chassis.kafka_cluster import Kafka
from services.chassis.topics import committed_offsets, list_partitions, open_reader

PARTITION_BYTES = 32 * 1024
READ_SECONDS = 2.0

# The end offset of each partition.
Ends = Mapping[TopicPartition, int]


class GroupProgress:
    """Compares what a group has committed with the ends of its topics."""

    def __init__(self, kafka: Kafka, group: str, topics: Collection[str]) -> None:
        self._kafka = kafka
        self._group = group
        self._topics = list(topics)

    async def ends(self) -> Ends:
        """The end offset of each partition of the topics that exist.

        Raises:
            Unavailable: the broker does not answer.
        """
        with _unavailable():
            partitions = sorted(await list_partitions(self._kafka, self._topics))
            return await self._read_ends(partitions) if partitions else {}

    async def behind(self, ends: Ends) -> int:
        """How many records before these ends the group has not committed, without expired ones.

        Raises:
            Unavailable: the broker does not answer.
        """
        with _unavailable():
            committed = await committed_offsets(self._kafka, self._group, ends.keys())
            left = {place: at for place, at in committed.items() if at < ends[place]}
            return sum(ends[place] - left[place] for place in await self._with_records(left)) if left else 0

    async def _read_ends(self, places: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """The end offsets. Tansu answers with those before the last batch, so the records after them are read."""
        async with open_reader(self._kafka, partition_bytes=PARTITION_BYTES) as consumer:
            ends: dict[TopicPartition, int] = await consumer.end_offsets(places)
            async with aclosing(_read(consumer, ends)) as read:
                async for place, records in read:
                    ends[place] = max(ends[place], records[-1].offset + 1)
        return ends

    async def _with_records(self, places: Mapping[TopicPartition, int]) -> set[TopicPartition]:
        """The partitions that have a record at this offset or after it."""
        topic_partitions: set[TopicPartition] = set()
        async with (
            open_reader(self._kafka, partition_bytes=PARTITION_BYTES) as consumer,
            aclosing(_read(consumer, places)) as read,
        ):
            async for place, _ in read:
                topic_partitions.add(place)
                if len(topic_partitions) == len(places):
                    break
        return topic_partitions


async def _read(
    consumer: AIOKafkaConsumer, offsets: Mapping[TopicPartition, int]
) -> AsyncGenerator[tuple[TopicPartition, list[Any]], None]:
    """The records from these offsets on, that arrive within READ_SECONDS."""
    consumer.assign(list(offsets))
    for place, offset in offsets.items():
        consumer.seek(place, offset)
    until = monotonic() + READ_SECONDS
    while monotonic() < until:
        for place, records in (await consumer.getmany(timeout_ms=100)).items():
            yield place, records


@contextmanager
def _unavailable() -> Iterator[None]:
    """Errors of the broker as Unavailable."""
    try:
        yield
    except (KafkaError, OSError) as error:
        raise Unavailable("The broker is not available, try again", reason="BROKER_UNAVAILABLE") from error
