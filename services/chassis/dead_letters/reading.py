"""Reading dead letters: from their beginning to where they ended when the reading began, in bounded memory."""

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from time import monotonic

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaTimeoutError

from services.chassis.broker import DEAD_LETTERS, closed, partitions
from services.chassis.dead_letters.letters import Letter, opened

AT_ONCE = 100
"""Letters; the bytes are bounded by what one fetch gives."""
FETCH_BYTES = 1024 * 1024
SILENCE_SECONDS = 10.0
CLOSE_SECONDS = 5.0


@asynccontextmanager
async def client(bootstrap: str, group: str | None = None) -> AsyncIterator[AIOKafkaConsumer]:
    """A consumer that subscribes to nothing and commits only what it is told to; KafkaError without a broker."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=FETCH_BYTES,
        fetch_max_bytes=FETCH_BYTES,
        fetch_max_wait_ms=100,
        request_timeout_ms=10_000,
    )
    try:
        await consumer.start()
        yield consumer
    finally:
        await closed(consumer.stop(), CLOSE_SECONDS)


async def topics_of(consumer: AIOKafkaConsumer, wanted: Collection[str] = ()) -> list[str]:
    """The broker's topics of dead letters: all, or those of the topics that are `wanted`. LookupError names others."""
    existing = {name for name in await consumer.topics() if name.endswith(DEAD_LETTERS)}
    named = {name.removesuffix(DEAD_LETTERS) + DEAD_LETTERS for name in wanted} or existing
    if missing := named - existing:
        known = ", ".join(sorted(existing)) or "none"
        raise LookupError(f"there is no topic {', '.join(sorted(missing))}; topics of dead letters: {known}")
    return sorted(named)


async def letters_of(bootstrap: str, consumer: AIOKafkaConsumer, topic: str) -> AsyncIterator[Letter]:
    """The letters of a topic that lie there now, in order per partition. KafkaTimeoutError for a silent broker."""
    places = sorted(await partitions(bootstrap, [topic]))
    first = await consumer.beginning_offsets(places)
    ends = await consumer.end_offsets(places)
    consumer.assign(places)
    left = _Rest(consumer, {place: end for place, end in ends.items() if end > first[place]})
    for place in places:
        consumer.seek(place, first[place])
    while await left.any():
        batches = await consumer.getmany(*left.ends, timeout_ms=200, max_records=AT_ONCE)
        left.look(came=bool(batches))
        for place, records in batches.items():
            for record in records:
                if record.offset < left.ends[place]:
                    yield opened(record)


class _Rest:
    """The partitions that are not read to their ends yet.

    The end is what the first fetch says: what arrives later, a replayed message that was refused again, is not read.
    Tansu answers the question for the ends with too little, so what counts is the larger of both.
    """

    def __init__(self, consumer: AIOKafkaConsumer, ends: Mapping[TopicPartition, int]) -> None:
        self.ends = dict(ends)
        self._consumer = consumer
        self._fetched: set[TopicPartition] = set()
        self._heard_at = monotonic()

    def look(self, *, came: bool) -> None:
        """After a fetch: learn the ends. KafkaTimeoutError when nothing has come for long."""
        for place in self.ends.keys() - self._fetched:
            if (end := self._consumer.highwater(place)) is not None:
                self._fetched.add(place)
                self.ends[place] = max(end, self.ends[place])
        if came:
            self._heard_at = monotonic()
        elif monotonic() - self._heard_at > SILENCE_SECONDS:
            raise KafkaTimeoutError(f"the broker gave nothing for {SILENCE_SECONDS:g} s")

    async def any(self) -> bool:
        """Whether there is more to read."""
        for place in list(self.ends):
            if place in self._fetched and await self._consumer.position(place) >= self.ends[place]:
                self._consumer.pause(place)
                del self.ends[place]
        return bool(self.ends)
