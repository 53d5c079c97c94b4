"""Skipping records that aiokafka cannot parse: a header name that is not UTF-8, a batch with a wrong checksum.

aiokafka raises at the first of them, at every fetch, so one such record would block its partition for good. The
partition is fetched once more here, to find the records before the fault and the beginning of the next batch.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import CorruptRecordException
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.record.memory_records import MemoryRecords

from services.chassis.aiokafka_internals import connections
from services.chassis.producer import MAX_MESSAGE_BYTES

UNREADABLE = (UnicodeDecodeError, CorruptRecordException)
WAIT_MS = 100


class UnreadableRecords(ConsumerRecord):  # type: ignore[misc]
    """Stands for the records from `first` to its own offset; `why` is what is wrong with them."""

    def __init__(self, partition: TopicPartition, first: int, last: int, why: str) -> None:
        super().__init__(partition.topic, partition.partition, last, 0, 0, None, None, None, 0, 0, ())
        self.first = first
        self.why = why


async def skip_unreadable(
    consumer: AIOKafkaConsumer, positions: Mapping[TopicPartition, int]
) -> dict[TopicPartition, list[ConsumerRecord]]:
    """The records before the first fault of each partition, then an UnreadableRecords; empty when there is no fault.

    `positions` are those of all partitions, since the failed fetch is lost. The consumer continues after the fault.
    """
    for partition, position in positions.items():
        consumer.seek(partition, position)
    skipped = {}
    for partition, position in positions.items():
        if partition not in consumer.assignment():
            continue  # a rebalance may reassign it at any time
        records = await _fetch(consumer, partition, position)
        if records and isinstance(records[-1], UnreadableRecords) and partition in consumer.assignment():
            skipped[partition] = records
            consumer.seek(partition, records[-1].offset + 1)
    return skipped


async def _fetch(consumer: AIOKafkaConsumer, partition: TopicPartition, position: int) -> list[ConsumerRecord]:
    """One fetch of the partition, up to the first fault; empty if the broker has nothing or refuses."""
    client = connections(consumer)
    end, leader = consumer.highwater(partition), client.cluster.leader_for_partition(partition)
    if leader is None or (end is not None and position >= end):
        return []
    wanted = [(partition.topic, [(partition.partition, position, MAX_MESSAGE_BYTES)])]
    response = await client.send(leader, FetchRequest(WAIT_MS, 1, MAX_MESSAGE_BYTES, 0, wanted))
    for _, partitions in response.topics:
        for _, error, end, *_, data in partitions:
            return [] if error else list(_parse_records(partition, MemoryRecords(data or b""), position, end))
    return []


def _parse_records(partition: TopicPartition, batches: Any, position: int, end: int) -> Iterator[ConsumerRecord]:
    """The records from `position` on, up to the first fault, which covers the rest of its batch."""
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
                    yield _consumer_record(partition, record)
        except UNREADABLE as error:
            last = after - 1 if position < after <= end else position  # the end of a corrupt batch may be corrupt too
            yield UnreadableRecords(partition, position, last, str(error))
            return
        position = max(position, after)


def _consumer_record(partition: TopicPartition, record: Any) -> ConsumerRecord:
    sizes = [len(content) if content is not None else -1 for content in (record.key, record.value)]
    stamp = record.timestamp, record.timestamp_type
    content = record.key, record.value, record.checksum
    return ConsumerRecord(
        partition.topic, partition.partition, record.offset, *stamp, *content, *sizes, tuple(record.headers)
    )
