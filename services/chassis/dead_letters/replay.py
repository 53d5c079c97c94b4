"""Reading dead letters, and publishing them again to the topics that they came from."""

import re
from collections import Counter
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field
from time import monotonic

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaTimeoutError

from services.chassis.aiokafka_internals import connections
from services.chassis.dead_letters.letters import DeadLetter, original_record, parse_letter
from services.chassis.kafka_cluster import Kafka
from services.chassis.producer import Producer
from services.chassis.topic_ids import in_topic, read_topic_ids
from services.chassis.topics import DEAD_LETTERS, committed_offsets, list_partitions, open_reader

GROUP = "mobiletest-dead-letters-replayed"
BATCH_LETTERS = 100
BATCH_BYTES = 4 * 1024 * 1024
SILENCE_SECONDS = 10.0


async def find_topics(consumer: AIOKafkaConsumer, wanted: Collection[str]) -> list[str]:
    """The `.dlq` topics of the `wanted` topics, or else of the broker.

    Raises:
        LookupError: some do not exist; it names them.
    """
    existing = {name for name in await consumer.topics() if name.endswith(DEAD_LETTERS)}
    named = {name.removesuffix(DEAD_LETTERS) + DEAD_LETTERS for name in wanted} or existing
    if missing := named - existing:
        known = ", ".join(sorted(existing)) or "none"
        raise LookupError(f"there is no topic {', '.join(sorted(missing))}; dead-letter topics: {known}")
    return sorted(named)


async def read_letters(kafka: Kafka, consumer: AIOKafkaConsumer, topic: str) -> AsyncIterator[DeadLetter]:
    """The letters that are in a topic now, in order per partition. KafkaTimeoutError when the broker sends nothing."""
    partitions = sorted(await list_partitions(kafka, [topic]))
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

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._next: dict[tuple[str, TopicPartition], int] = {}

    async def includes(self, letter: DeadLetter) -> bool:
        """Whether the letter has been replayed."""
        group, partition = key = _group_and_partition(letter)
        if key not in self._next:
            self._next[key] = (await committed_offsets(self._kafka, group, [partition]))[partition]
        return letter.offset < self._next[key]

    async def add(self, letters: Sequence[DeadLetter]) -> None:
        """Commit that these, and all earlier ones of their reasons, have been replayed."""
        newest = {_group_and_partition(each): each.offset + 1 for each in letters if not await self.includes(each)}
        for (group, partition), offset in newest.items():
            async with open_reader(self._kafka, group) as consumer:
                consumer.assign([partition])
                ids = await read_topic_ids(connections(consumer), [partition.topic])
                await consumer.commit({partition: tuple(in_topic(ids.get(partition.topic), offset))})
        self._next |= newest


def _group_and_partition(letter: DeadLetter) -> tuple[str, TopicPartition]:
    """The group of its reason, without the characters that a group's name may not have, and the partition."""
    reason = re.sub(r"[^A-Za-z0-9_.-]", "_", letter.reason)[:100]
    return f"{GROUP}.{reason}", TopicPartition(letter.topic, letter.partition)


@dataclass(frozen=True, slots=True)
class LetterFilter:
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


async def replay_topic(
    consumer: AIOKafkaConsumer, producer: Producer, topic: str, selection: LetterFilter, *, dry_run: bool
) -> ReplayResult:
    """Replay the selected letters of `topic`. After a crash the last batch may be replayed again."""
    offsets, result = ReplayedOffsets(producer.kafka), ReplayResult(topic)
    batch: list[DeadLetter] = []
    async for letter in read_letters(producer.kafka, consumer, topic):
        if result.replayed == selection.most:
            break
        if not selection.includes(letter):
            continue
        if letter.cut:
            result.cut += 1
        elif not selection.again and await offsets.includes(letter):
            result.before += 1
        else:
            result.reasons[letter.reason] += 1
            if not dry_run:
                batch.append(letter)
        if len(batch) >= BATCH_LETTERS or sum(len(each.record.value or b"") for each in batch) >= BATCH_BYTES:
            await _publish(producer, offsets, batch)
            batch = []
    await _publish(producer, offsets, batch)
    return result


async def _publish(producer: Producer, offsets: ReplayedOffsets, letters: Sequence[DeadLetter]) -> None:
    if not letters:
        return
    results = await producer.publish_records([original_record(letter) for letter in letters])
    failures = [result for result in results if isinstance(result, Exception)]
    if failures:
        raise ReplayFailed(f"{len(failures)} of {len(letters)} from {letters[0].place} on: {failures[0]!r}")
    await offsets.add(letters)
