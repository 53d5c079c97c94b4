"""Reading dead letters, and publishing them again to the topics that they came from."""

import re
from collections import Counter
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaTimeoutError

from services.chassis.dead_letters.letters import DeadLetter, original_record, parse_letter
from services.chassis.producer import Producer
from services.chassis.topics import DEAD_LETTERS, close_client, list_partitions

GROUP = "mobiletest-dead-letters-replayed"
BATCH_LETTERS = 100
BATCH_BYTES = 4 * 1024 * 1024
FETCH_BYTES = 1024 * 1024
SILENCE_SECONDS = 10.0


@asynccontextmanager
async def open_reader(bootstrap: str, group: str | None = None) -> AsyncIterator[AIOKafkaConsumer]:
    """A consumer without subscription that commits nothing by itself; KafkaError without a broker."""
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
        await close_client(consumer.stop(), 5.0)


async def find_topics(consumer: AIOKafkaConsumer, wanted: Collection[str] = ()) -> list[str]:
    """The `.dlq` topics of the broker, or of the `wanted` topics. LookupError names those that do not exist."""
    existing = {name for name in await consumer.topics() if name.endswith(DEAD_LETTERS)}
    named = {name.removesuffix(DEAD_LETTERS) + DEAD_LETTERS for name in wanted} or existing
    if missing := named - existing:
        known = ", ".join(sorted(existing)) or "none"
        raise LookupError(f"there is no topic {', '.join(sorted(missing))}; dead-letter topics: {known}")
    return sorted(named)


async def read_letters(bootstrap: str, consumer: AIOKafkaConsumer, topic: str) -> AsyncIterator[DeadLetter]:
    """The letters that are in a topic now, in order per partition. KafkaTimeoutError when the broker sends nothing."""
    partitions = sorted(await list_partitions(bootstrap, [topic]))
    first = await consumer.beginning_offsets(partitions)
    ends = {place: end for place, end in (await consumer.end_offsets(partitions)).items() if end > first[place]}
    consumer.assign(partitions)
    for partition in partitions:
        consumer.seek(partition, first[partition])
    fetched: set[TopicPartition] = set()
    received_at = monotonic()
    while ends:
        batches = await consumer.getmany(*ends, timeout_ms=200, max_records=BATCH_LETTERS)
        # The end of the first fetch counts: later letters may be replayed ones, and Tansu's end offsets are too low.
        for partition in ends.keys() - fetched:
            if (end := consumer.highwater(partition)) is not None:
                fetched.add(partition)
                ends[partition] = max(end, ends[partition])
        for partition, records in batches.items():
            for record in records:
                if record.offset < ends[partition]:
                    yield parse_letter(record)
        for partition in fetched & ends.keys():
            if await consumer.position(partition) >= ends[partition]:
                consumer.pause(partition)
                del ends[partition]
        if batches:
            received_at = monotonic()
        elif monotonic() - received_at > SILENCE_SECONDS:
            raise KafkaTimeoutError(f"the broker sent nothing for {SILENCE_SECONDS:g} s")


class ReplayedOffsets:
    """How far the letters of each reason have been replayed: the committed offsets of one consumer group per reason,
    so that those of one reason can be replayed before the others.
    """

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._closing = AsyncExitStack()
        self._groups: dict[str, AIOKafkaConsumer] = {}
        self._next: dict[tuple[str, TopicPartition], int] = {}

    async def __aenter__(self) -> "ReplayedOffsets":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._closing.aclose()

    async def includes(self, letter: DeadLetter) -> bool:
        """Whether the letter has been replayed."""
        key = _key(letter)
        if key not in self._next:
            reason, partition = key
            self._next[key] = await (await self._group(reason)).committed(partition) or 0
        return letter.offset < self._next[key]

    async def add(self, letters: Sequence[DeadLetter]) -> None:
        """Commit that these, and all earlier ones of their reasons, have been replayed."""
        newest: dict[tuple[str, TopicPartition], int] = {}
        for letter in letters:
            if not await self.includes(letter):
                newest[_key(letter)] = letter.offset + 1
        for (reason, partition), offset in newest.items():
            group = await self._group(reason)
            group.assign([partition])
            await group.commit({partition: offset})
        self._next |= newest

    async def _group(self, reason: str) -> AIOKafkaConsumer:
        if reason not in self._groups:
            reader = open_reader(self._bootstrap, f"{GROUP}.{reason}")
            self._groups[reason] = await self._closing.enter_async_context(reader)
        return self._groups[reason]


def _key(letter: DeadLetter) -> tuple[str, TopicPartition]:
    """The reason, with the characters that a group's name may have, and the partition."""
    reason = re.sub(r"[^A-Za-z0-9_.-]", "_", letter.reason)[:100]
    return reason, TopicPartition(letter.topic, letter.partition)


@dataclass(frozen=True, slots=True)
class Selection:
    """Letters of these reasons (none given: of all), at most `most` of a topic; `again`: also replayed ones."""

    reasons: Collection[str] = ()
    most: int | None = None
    again: bool = False

    def includes(self, letter: DeadLetter) -> bool:
        return not self.reasons or letter.reason in self.reasons


@dataclass(slots=True)
class ReplayResult:
    """What became of the selected letters of a topic: replayed (by reason), replayed before, cut."""

    topic: str
    reasons: Counter[str] = field(default_factory=Counter)
    before: int = 0
    cut: int = 0

    @property
    def replayed(self) -> int:
        return self.reasons.total()


class ReplayFailed(Exception):
    """The broker did not take a batch of letters; the batches before it have been replayed."""


class Replay:
    """Replays the letters of one broker."""

    def __init__(self, consumer: AIOKafkaConsumer, producer: Producer, replayed: ReplayedOffsets) -> None:
        self._consumer = consumer
        self._producer = producer
        self._replayed = replayed

    async def run(self, topic: str, selection: Selection, *, dry_run: bool = False) -> ReplayResult:
        """Replay the selected letters of `topic`. After a crash the last batch may be replayed again."""
        result = ReplayResult(topic)
        batch: list[DeadLetter] = []
        async for letter in self._select(topic, selection, result):
            if dry_run:
                continue
            batch.append(letter)
            if len(batch) >= BATCH_LETTERS or sum(len(each.record.value or b"") for each in batch) >= BATCH_BYTES:
                await self._publish(batch)
                batch = []
        await self._publish(batch)
        return result

    async def _select(self, topic: str, selection: Selection, result: ReplayResult) -> AsyncIterator[DeadLetter]:
        async for letter in read_letters(self._producer.bootstrap, self._consumer, topic):
            if result.replayed == selection.most:
                return
            if not selection.includes(letter):
                continue
            if letter.cut:
                result.cut += 1
            elif not selection.again and await self._replayed.includes(letter):
                result.before += 1
            else:
                result.reasons[letter.reason] += 1
                yield letter

    async def _publish(self, letters: Sequence[DeadLetter]) -> None:
        if not letters:
            return
        results = await self._producer.publish_records([original_record(letter) for letter in letters])
        failures = [result for result in results if isinstance(result, Exception)]
        if failures:
            raise ReplayFailed(f"{len(failures)} of {len(letters)} from {letters[0].place} on: {failures[0]!r}")
        await self._replayed.add(letters)
