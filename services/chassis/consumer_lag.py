"""The lag of a group member by partition: how many records the broker has that are not committed yet."""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from time import monotonic

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from services.chassis import metrics

ASK_SECONDS = 5.0
ANSWER_SECONDS = 2.0

_lag = metrics.gauge("mobiletest_kafka_consumer_lag_records", "Uncommitted records", ["topic", "partition", "group"])


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
