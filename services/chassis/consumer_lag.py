"""The lag of consumer groups: of a member by partition, and of a group as it is seen from outside."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from time import monotonic
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from services.chassis import metrics
from services.chassis.errors import Unavailable
from services.chassis.kafka_cluster import Kafka
from services.chassis.topics import committed_offsets, list_partitions, open_reader

ASK_SECONDS = 5.0
ANSWER_SECONDS = 2.0

_lag = metrics.gauge("mobiletest_kafka_consumer_lag_records", "Uncommitted records", ["topic", "partition", "group"])
PARTITION_BYTES = 32 * 1024
READ_SECONDS = 2.0
# The end offset of each partition.
Ends = Mapping[TopicPartition, int]


class ConsumerLag:
    """The lag of the partitions that are assigned to this member, as a metric.

    Each fetch brings the end offsets; the broker is asked for them only while nothing is fetched.
    """

    def __init__(self, consumer: AIOKafkaConsumer, group: str, *, ask_seconds: float = ASK_SECONDS) -> None:
        """`ask_seconds`: how long end offsets stay valid while nothing is fetched."""
        self._consumer = consumer
        self._group = group
        self._done: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}
        self._ask_seconds = ask_seconds
        self._asked_at = monotonic()

    def fetched(self, first: Mapping[TopicPartition, int]) -> set[TopicPartition]:
        """After a fetch; `first`: the first offset of each partition. Returns the partitions to `learn`."""
        assigned = self._remove_lost()
        for partition, offset in first.items():
            if offset < self._done.get(partition, 0):  # the broker lost the log: the known end is that of the old one
                self._remove(partition)
            self._done.setdefault(partition, offset)
        ends = {partition: self._consumer.highwater(partition) for partition in assigned}
        self._show({partition: end for partition, end in ends.items() if end is not None})
        return {partition for partition, end in ends.items() if end is not None and partition not in self._done}

    async def learn(self, partitions: Iterable[TopicPartition]) -> None:
        """Ask for the positions of these partitions, of which no record has been fetched yet."""
        for partition in partitions:
            with suppress(KafkaError, TimeoutError):  # it may be reassigned meanwhile
                async with asyncio.timeout(ANSWER_SECONDS):
                    self._done[partition] = await self._consumer.position(partition)
                self._show({partition: 0})

    def committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        """These offsets are committed."""
        self._done.update(offsets)
        self._show(dict.fromkeys(offsets, 0))

    async def ask(self) -> None:
        """While nothing is fetched: ask for the end offsets now and then, without waiting long for an answer."""
        self._remove_lost()
        if not self._done or monotonic() - self._asked_at < self._ask_seconds:
            return
        self._asked_at = monotonic()
        with suppress(KafkaError, TimeoutError):
            async with asyncio.timeout(ANSWER_SECONDS):
                self._show(await self._consumer.end_offsets(list(self._done)))

    def forget(self) -> None:
        """Stop showing the lag."""
        for partition in list(self._done):
            self._remove(partition)

    def _remove_lost(self) -> set[TopicPartition]:
        """Show no lag of partitions that others have now; returns those of this member."""
        assigned: set[TopicPartition] = self._consumer.assignment()
        for partition in self._done.keys() - assigned:
            self._remove(partition)
        return assigned

    def _show(self, ends: Mapping[TopicPartition, int]) -> None:
        """Keep the highest end offsets, and show the lag."""
        for partition, end in ends.items():
            self._ends[partition] = max(end, self._ends.get(partition, 0))
            if partition in self._done:
                lag = max(0, self._ends[partition] - self._done[partition])
                _lag.labels(partition.topic, partition.partition, self._group).set(lag)

    def _remove(self, partition: TopicPartition) -> None:
        del self._done[partition]
        self._ends.pop(partition, None)
        with suppress(KeyError):
            _lag.remove(partition.topic, partition.partition, self._group)


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
