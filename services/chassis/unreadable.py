"""Getting past records that aiokafka cannot read: a header whose name is no text, a batch with a wrong checksum.

It raises at the first of them, at every fetch, and delivers nothing of that partition any more: one such message would
stop its consumer for good.
"""

from collections.abc import Mapping

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import CorruptRecordException

UNREADABLE = (UnicodeDecodeError, CorruptRecordException)
WAIT_MS = 250


class Unreadable(ConsumerRecord):  # type: ignore[misc]
    """Stands for the records from `first` to its own offset. `why` says what is wrong with them."""

    def __init__(self, place: TopicPartition, first: int, last: int, why: str) -> None:
        super().__init__(place.topic, place.partition, last, 0, 0, None, None, None, 0, 0, ())
        self.first = first
        self.why = why


async def read_around(
    consumer: AIOKafkaConsumer, positions: Mapping[TopicPartition, int]
) -> dict[TopicPartition, list[ConsumerRecord]]:
    """What lies before the unreadable ones, with an Unreadable at the end; empty when all can be read after all.

    `positions` are those of all partitions, for what the failed fetch held is lost. The consumer goes on behind.
    """
    for place, position in positions.items():
        consumer.seek(place, position)
    found = {}
    for place, position in positions.items():
        if (why := await _fault(consumer, place, position, None)) is not None:
            found[place] = await _up_to_it(consumer, place, position)
            first = found[place][-1].offset + 1 if found[place] else position
            after = await _behind(consumer, place, first)
            found[place].append(Unreadable(place, first, after - 1, why))
            position = after
        consumer.seek(place, position)
    return found


async def _fault(consumer: AIOKafkaConsumer, place: TopicPartition, offset: int, most: int | None) -> str | None:
    """Why the next fetch from there (its first `most` records) cannot be read, or None."""
    end = _end(consumer, place)
    if end is not None and offset >= end:
        return None
    consumer.seek(place, offset)
    try:
        await consumer.getmany(place, timeout_ms=WAIT_MS, max_records=most)
    except UNREADABLE as error:
        return str(error)
    return None


async def _up_to_it(consumer: AIOKafkaConsumer, place: TopicPartition, position: int) -> list[ConsumerRecord]:
    """One by one until one fails: those before it."""
    records: list[ConsumerRecord] = []
    consumer.seek(place, position)
    try:
        while batch := (await consumer.getmany(place, timeout_ms=WAIT_MS, max_records=1)).get(place):
            records += batch
    except UNREADABLE:
        pass
    return records


async def _behind(consumer: AIOKafkaConsumer, place: TopicPartition, first: int) -> int:
    """The next offset that can be read. The broker gives whole batches, so all up to the end of one fails."""
    fails, step = first, 1
    while await _fault(consumer, place, first + step, 1) is not None:
        fails, step = first + step, step * 2
    reads = min(first + step, max(_end(consumer, place) or 0, first + 1))
    while reads - fails > 1:
        middle = (reads + fails) // 2
        if await _fault(consumer, place, middle, 1) is None:
            reads = middle
        else:
            fails = middle
    return reads


def _end(consumer: AIOKafkaConsumer, place: TopicPartition) -> int | None:
    """Where the partition ends, as far as is known; a rebalance may take it away at any time."""
    return consumer.highwater(place) if place in consumer.assignment() else None
