"""How far a member of a group is behind, partition by partition: what the broker has and is not committed yet."""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from time import monotonic

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from services.chassis import metrics

ASK_SECONDS = 5.0
ANSWER_SECONDS = 2.0

_lag = metrics.gauge("mobiletest_kafka_consumer_lag_records", "Records not dealt with", ["topic", "partition", "group"])


class ConsumerLag:
    """The lag of the partitions that this member has now, as a metric.

    The ends come with what is fetched, so they cost nothing; only while nothing is fetched the broker is asked.
    """

    def __init__(self, consumer: AIOKafkaConsumer, group: str, *, ask_seconds: float = ASK_SECONDS) -> None:
        """`ask_seconds`: how long an answer about the ends is good enough."""
        self._consumer = consumer
        self._group = group
        self._done: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}
        self._ask_seconds = ask_seconds
        self._asked_at = monotonic()

    def fetched(self, first: Mapping[TopicPartition, int]) -> set[TopicPartition]:
        """After a fetch, of which `first` are the offsets of the first records; gives the partitions to `learn`."""
        assigned = self._consumer.assignment()
        for place in self._done.keys() - assigned:
            self._remove(place)
        for place, offset in first.items():
            self._done.setdefault(place, offset)
        ends = {place: self._consumer.highwater(place) for place in assigned}
        self._show({place: end for place, end in ends.items() if end is not None})
        return {place for place, end in ends.items() if end is not None and place not in self._done}

    async def learn(self, places: Iterable[TopicPartition]) -> None:
        """Find out where these are read from, of which no record has come yet."""
        for place in places:
            with suppress(KafkaError):  # it may be taken away meanwhile
                self._done[place] = await self._consumer.position(place)
                self._show({place: 0})

    def committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        """So far all is dealt with."""
        self._done.update(offsets)
        self._show(dict.fromkeys(offsets, 0))

    async def ask(self) -> None:
        """While nothing is fetched: ask for the ends now and then; a broker that does not answer is not waited for."""
        if not self._done or monotonic() - self._asked_at < self._ask_seconds:
            return
        self._asked_at = monotonic()
        with suppress(KafkaError, TimeoutError):
            async with asyncio.timeout(ANSWER_SECONDS):
                self._show(await self._consumer.end_offsets(list(self._done)))

    def forget(self) -> None:
        """Show nothing any more."""
        for place in list(self._done):
            self._remove(place)

    def _show(self, ends: Mapping[TopicPartition, int]) -> None:
        """Note the ends, which only grow while the broker is the same, and show what changed."""
        for place, end in ends.items():
            self._ends[place] = max(end, self._ends.get(place, 0))
            if place in self._done:
                lag = max(0, self._ends[place] - self._done[place])
                _lag.labels(place.topic, place.partition, self._group).set(lag)

    def _remove(self, place: TopicPartition) -> None:
        del self._done[place]
        self._ends.pop(place, None)
        with suppress(KeyError):
            _lag.remove(place.topic, place.partition, self._group)
