"""Publishing dead letters anew, each once: how far that went is kept as committed offsets."""

import re
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaTimeoutError

from services.chassis.dead_letters.letters import DeadLetter, original_record, parse_letter
from services.chassis.producer import Producer, Record
from services.chassis.topics import DEAD_LETTERS, close_client, list_partitions

GROUP = "mobiletest-dead-letters-replayed"
BATCH_LETTERS = 100
BATCH_BYTES = 4 * 1024 * 1024


class ReplayedOffsets:
    """How far the letters of each reason were replayed: the committed offsets of a group per reason.

    A group per reason, so that those of one reason can be replayed while the others wait. The broker forgets the
    offsets of idle groups after a time (offsets.retention.minutes): then a letter may be replayed once more.
    """

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._closing = AsyncExitStack()
        self._groups: dict[str, AIOKafkaConsumer] = {}
        self._reached: dict[tuple[str, TopicPartition], int] = {}

    async def __aenter__(self) -> "ReplayedOffsets":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._closing.aclose()

    async def holds(self, letter: DeadLetter) -> bool:
        """Whether the letter was replayed."""
        return letter.offset < await self._next(_code(letter.reason), _lies_in(letter))

    async def add(self, letters: Sequence[DeadLetter]) -> None:
        """Note that these were, and all of their reasons before them."""
        newest: dict[tuple[str, TopicPartition], int] = {}
        for letter in letters:
            key = _code(letter.reason), _lies_in(letter)
            newest[key] = max(letter.offset + 1, newest.get(key, 0), await self._next(*key))
        for (reason, place), offset in newest.items():
            group = await self._group(reason)
            group.assign([place])
            await group.commit({place: offset})
            self._reached[reason, place] = offset

    async def _next(self, reason: str, place: TopicPartition) -> int:
        if (reason, place) not in self._reached:
            self._reached[reason, place] = await (await self._group(reason)).committed(place) or 0
        return self._reached[reason, place]

    async def _group(self, reason: str) -> AIOKafkaConsumer:
        if reason not in self._groups:
            opening = open_reader(self._bootstrap, f"{GROUP}.{reason}")
            self._groups[reason] = await self._closing.enter_async_context(opening)
        return self._groups[reason]


@dataclass(frozen=True, slots=True)
class Selection:
    """What to replay: letters of these reasons (none named: of all), at most `most`; `again` those that were, too."""

    reasons: Collection[str] = ()
    most: int | None = None
    again: bool = False
    dry: bool = False

    def wants(self, letter: DeadLetter) -> bool:
        return not self.reasons or letter.reason in self.reasons


@dataclass(slots=True)
class ReplayResult:
    """What became of the letters of a topic."""

    topic: str
    replayed: int = 0
    before: int = 0
    cut: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def took(self, letter: DeadLetter) -> None:
        self.replayed += 1
        self.reasons[letter.reason] += 1


class ReplayFailed(Exception):
    """The broker did not take what was to be replayed; all before it was, and is noted."""


class Replay:
    """Replays the letters of one broker."""

    def __init__(self, consumer: AIOKafkaConsumer, producer: Producer, replayed: ReplayedOffsets) -> None:
        self._consumer = consumer
        self._producer = producer
        self._replayed = replayed

    async def run(self, topic: str, order: Selection) -> ReplayResult:
        """Replay the letters of `topic` that `order` wants. A crash in between means that a few come twice."""
        tally = ReplayResult(topic)
        batch: list[DeadLetter] = []
        async for letter in self._wanted(topic, order, tally):
            batch.append(letter)
            if len(batch) >= BATCH_LETTERS or sum(_size(each.record) for each in batch) >= BATCH_BYTES:
                await self._publish(batch, order)
                batch = []
        await self._publish(batch, order)
        return tally

    async def _wanted(self, topic: str, order: Selection, tally: ReplayResult) -> AsyncIterator[DeadLetter]:
        async for letter in read_letters(self._producer.bootstrap, self._consumer, topic):
            if tally.replayed == order.most:
                return
            if not order.wants(letter):
                continue
            if letter.cut:
                tally.cut += 1
            elif not order.again and await self._replayed.holds(letter):
                tally.before += 1
            else:
                tally.took(letter)
                yield letter

    async def _publish(self, letters: Sequence[DeadLetter], order: Selection) -> None:
        if order.dry or not letters:
            return
        results = await self._producer.publish_records([original_record(letter) for letter in letters])
        failures = [result for result in results if isinstance(result, Exception)]
        if failures:
            raise ReplayFailed(f"{len(failures)} of {len(letters)} from {letters[0].place} on: {failures[0]!r}")
        await self._replayed.add(letters)


def _size(record: Record) -> int:
    return len(record.value or b"")


def _lies_in(letter: DeadLetter) -> TopicPartition:
    return TopicPartition(letter.topic, letter.partition)


def _code(reason: str) -> str:
    """What a group may be named: reasons of ours stay as they are."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", reason)[:100]


FETCH_LETTERS = 100
"""Letters; the bytes are bounded by what one fetch gives."""
FETCH_BYTES = 1024 * 1024
SILENCE_SECONDS = 10.0
CLOSE_SECONDS = 5.0


@asynccontextmanager
async def open_reader(bootstrap: str, group: str | None = None) -> AsyncIterator[AIOKafkaConsumer]:
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
        await close_client(consumer.stop(), CLOSE_SECONDS)


async def find_topics(consumer: AIOKafkaConsumer, wanted: Collection[str] = ()) -> list[str]:
    """The broker's topics of dead letters: all, or those of the topics that are `wanted`. LookupError names others."""
    existing = {name for name in await consumer.topics() if name.endswith(DEAD_LETTERS)}
    named = {name.removesuffix(DEAD_LETTERS) + DEAD_LETTERS for name in wanted} or existing
    if missing := named - existing:
        known = ", ".join(sorted(existing)) or "none"
        raise LookupError(f"there is no topic {', '.join(sorted(missing))}; topics of dead letters: {known}")
    return sorted(named)


async def read_letters(bootstrap: str, consumer: AIOKafkaConsumer, topic: str) -> AsyncIterator[DeadLetter]:
    """The letters of a topic that lie there now, in order per partition. KafkaTimeoutError for a silent broker."""
    places = sorted(await list_partitions(bootstrap, [topic]))
    first = await consumer.beginning_offsets(places)
    ends = await consumer.end_offsets(places)
    consumer.assign(places)
    left = _UnreadPartitions(consumer, {place: end for place, end in ends.items() if end > first[place]})
    for place in places:
        consumer.seek(place, first[place])
    while await left.any():
        batches = await consumer.getmany(*left.ends, timeout_ms=200, max_records=FETCH_LETTERS)
        left.look(came=bool(batches))
        for place, records in batches.items():
            for record in records:
                if record.offset < left.ends[place]:
                    yield parse_letter(record)


class _UnreadPartitions:
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
