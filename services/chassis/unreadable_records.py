"""Getting past records that aiokafka cannot read: a header whose name is no text, a batch with a wrong checksum.

It raises at the first of them, at every fetch, and delivers nothing of that partition any more: one such message would
stop its consumer for good. So what it cannot read is fetched here once more, to see what lies before it and where the
next batch begins.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import CorruptRecordException
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.record.memory_records import MemoryRecords

from services.chassis.producer import MAX_MESSAGE_BYTES

UNREADABLE = (UnicodeDecodeError, CorruptRecordException)
WAIT_MS = 100


class UnreadableRecords(ConsumerRecord):  # type: ignore[misc]
    """Stands for the records from `first` to its own offset. `why` says what is wrong with them."""

    def __init__(self, place: TopicPartition, first: int, last: int, why: str) -> None:
        super().__init__(place.topic, place.partition, last, 0, 0, None, None, None, 0, 0, ())
        self.first = first
        self.why = why


async def skip_unreadable(
    consumer: AIOKafkaConsumer, positions: Mapping[TopicPartition, int]
) -> dict[TopicPartition, list[ConsumerRecord]]:
    """What lies before the unreadable ones, with an Unreadable at the end; empty when all can be read after all.

    `positions` are those of all partitions, for what the failed fetch held is lost. The consumer goes on behind.
    """
    for place, position in positions.items():
        consumer.seek(place, position)
    found = {}
    for place, position in positions.items():
        if place not in consumer.assignment():
            continue  # a rebalance may take it away at any time
        records = await _fetch(consumer, place, position)
        if records and isinstance(records[-1], UnreadableRecords) and place in consumer.assignment():
            found[place] = records
            consumer.seek(place, records[-1].offset + 1)
    return found


async def _fetch(consumer: AIOKafkaConsumer, place: TopicPartition, position: int) -> list[ConsumerRecord]:
    """One fetch of the partition, up to the first fault in it; nothing while a broker does not give it."""
    end, leader = consumer.highwater(place), consumer._client.cluster.leader_for_partition(place)
    if leader is None or (end is not None and position >= end):
        return []
    wanted = [(place.topic, [(place.partition, position, MAX_MESSAGE_BYTES)])]
    response = await consumer._client.send(leader, FetchRequest(WAIT_MS, 1, MAX_MESSAGE_BYTES, 0, wanted))
    for _, partitions in response.topics:
        for _, error, end, *_, data in partitions:
            return [] if error else list(_parse_records(place, MemoryRecords(data or b""), position, end))
    return []


def _parse_records(place: TopicPartition, batches: Any, position: int, end: int) -> Iterator[ConsumerRecord]:
    """Those from `position` on; the first fault, up to the end of its batch, is the last of them."""
    while batches.has_next():
        after = position + 1
        try:
            batch = batches.next_batch()
            after = batch.next_offset
            if not batch.validate_crc():
                raise CorruptRecordException("the checksum is wrong")
            for record in () if batch.is_control_batch else batch:
                if record.offset >= position:
                    position = record.offset + 1
                    yield _consumer_record(place, record)
        except UNREADABLE as error:
            last = after - 1 if position < after <= end else position  # what is corrupt may say any end
            yield UnreadableRecords(place, position, last, str(error))
            return
        position = max(position, after)


def _consumer_record(place: TopicPartition, record: Any) -> ConsumerRecord:
    sizes = [len(content) if content is not None else -1 for content in (record.key, record.value)]
    stamp = record.timestamp, record.timestamp_type
    content = record.key, record.value, record.checksum
    return ConsumerRecord(place.topic, place.partition, record.offset, *stamp, *content, *sizes, tuple(record.headers))
