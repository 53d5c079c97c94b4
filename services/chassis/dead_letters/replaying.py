"""Publishing dead letters anew, each once: how far that went is kept as committed offsets."""

import re
from collections import Counter
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from aiokafka import AIOKafkaConsumer, TopicPartition

from services.chassis.dead_letters.letters import Letter, original
from services.chassis.dead_letters.reading import client, letters_of
from services.chassis.kafka import Producer, Record

GROUP = "mobiletest-dead-letters-replayed"
BATCH_LETTERS = 100
BATCH_BYTES = 4 * 1024 * 1024


class Replayed:
    """How far the letters of each reason were replayed: the committed offsets of a group per reason.

    A group per reason, so that those of one reason can be replayed while the others wait. The broker forgets the
    offsets of idle groups after a time (offsets.retention.minutes): then a letter may be replayed once more.
    """

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._closing = AsyncExitStack()
        self._groups: dict[str, AIOKafkaConsumer] = {}
        self._reached: dict[tuple[str, TopicPartition], int] = {}

    async def __aenter__(self) -> "Replayed":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._closing.aclose()

    async def holds(self, letter: Letter) -> bool:
        """Whether the letter was replayed."""
        return letter.offset < await self._next(_code(letter.reason), _lies_in(letter))

    async def add(self, letters: Sequence[Letter]) -> None:
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
            opening = client(self._bootstrap, f"{GROUP}.{reason}")
            self._groups[reason] = await self._closing.enter_async_context(opening)
        return self._groups[reason]


@dataclass(frozen=True, slots=True)
class Order:
    """What to replay: letters of these reasons (none named: of all), at most `most`; `again` those that were, too."""

    reasons: Collection[str] = ()
    most: int | None = None
    again: bool = False
    dry: bool = False

    def wants(self, letter: Letter) -> bool:
        return not self.reasons or letter.reason in self.reasons


@dataclass(slots=True)
class Tally:
    """What became of the letters of a topic."""

    topic: str
    replayed: int = 0
    before: int = 0
    cut: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def took(self, letter: Letter) -> None:
        self.replayed += 1
        self.reasons[letter.reason] += 1


class NotPublished(Exception):
    """The broker did not take what was to be replayed; all before it was, and is noted."""


class Replay:
    """Replays the letters of one broker."""

    def __init__(self, consumer: AIOKafkaConsumer, producer: Producer, replayed: Replayed) -> None:
        self._consumer = consumer
        self._producer = producer
        self._replayed = replayed

    async def run(self, topic: str, order: Order) -> Tally:
        """Replay the letters of `topic` that `order` wants. A crash in between means that a few come twice."""
        tally = Tally(topic)
        batch: list[Letter] = []
        async for letter in self._wanted(topic, order, tally):
            batch.append(letter)
            if len(batch) >= BATCH_LETTERS or sum(_size(each.record) for each in batch) >= BATCH_BYTES:
                await self._publish(batch, order)
                batch = []
        await self._publish(batch, order)
        return tally

    async def _wanted(self, topic: str, order: Order, tally: Tally) -> AsyncIterator[Letter]:
        async for letter in letters_of(self._producer.bootstrap, self._consumer, topic):
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

    async def _publish(self, letters: Sequence[Letter], order: Order) -> None:
        if order.dry or not letters:
            return
        results = await self._producer.publish_records([original(letter) for letter in letters])
        failures = [result for result in results if isinstance(result, Exception)]
        if failures:
            raise NotPublished(f"{len(failures)} of {len(letters)} from {letters[0].place} on: {failures[0]!r}")
        await self._replayed.add(letters)


def _size(record: Record) -> int:
    return len(record.value or b"")


def _lies_in(letter: Letter) -> TopicPartition:
    return TopicPartition(letter.topic, letter.partition)


def _code(reason: str) -> str:
    """What a group may be named: reasons of ours stay as they are."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", reason)[:100]
