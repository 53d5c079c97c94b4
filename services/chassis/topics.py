"""Topics, their partitions, committed offsets and records, for what is no member of a consumer group."""

import asyncio
from collections.abc import AsyncIterator, Collection, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any

import stamina
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import GroupCoordinatorNotAvailableError, TopicAlreadyExistsError, for_code

from services.chassis.aiokafka_internals import connections
from services.chassis.kafka_cluster import Kafka, client_options
from services.chassis.topic_ids import current_offsets, read_topic_ids

DEAD_LETTERS = ".dlq"
# How long dead letters are kept in the topics that we create: long enough for an operator to look at them.
DEAD_LETTERS_DAYS = 30
CLOSE_SECONDS = 2.0
FETCH_BYTES = 1024 * 1024

# The coordinator of a group may be moving, or be created with the first group.
_patiently = stamina.AsyncRetryingCaller(attempts=10, wait_initial=0.1, wait_max=1.0, wait_jitter=0).on(
    GroupCoordinatorNotAvailableError
)


def partition_of(record: ConsumerRecord) -> TopicPartition:
    """The partition of the record."""
    return TopicPartition(record.topic, record.partition)


async def ensure_topics(kafka: Kafka, topics: Mapping[str, int], *, timeout: float = 10.0) -> None:
    """Create those of `topics` (name -> partitions) that do not exist, each with its `.dlq` of one partition.

    Replication and everything else is the broker's default, except the retention of dead letters.
    """
    wanted = {**topics, **{name + DEAD_LETTERS: 1 for name in topics}}
    async with _admin_client(kafka, timeout) as admin:
        existing = set(await admin.list_topics())
        missing = [_new_topic(name, count) for name, count in wanted.items() if name not in existing]
        if missing:
            _check_created(await admin.create_topics(missing, timeout_ms=int(timeout * 1000)))


async def list_partitions(kafka: Kafka, topics: Collection[str] | None = None) -> set[TopicPartition]:
    """The partitions of these topics, or of all; a consumer's own metadata covers only topics that it subscribed to."""
    async with _admin_client(kafka) as admin:
        descriptions = await admin.describe_topics(None if topics is None else list(topics))
    return {TopicPartition(t["topic"], p["partition"]) for t in descriptions for p in t["partitions"]}


async def committed_offsets(
    kafka: Kafka, group: str, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, int]:
    """What the group has committed of each partition; 0 where it has committed nothing, or in a topic that was lost."""
    if not partitions:
        return {}
    async with _admin_client(kafka) as admin:
        offsets = await _patiently(admin.list_consumer_group_offsets, group, partitions=list(partitions))
        topics = await read_topic_ids(connections(admin), {place.topic for place in partitions})
        current = current_offsets(offsets, topics)
    return {partition: max(0, current.get(partition, 0)) for partition in partitions}


async def close_client(closing: Coroutine[Any, Any, None], seconds: float = CLOSE_SECONDS) -> None:
    """Wait for an aiokafka client to close, however that ends: without a broker even CancelledError comes out."""
    task = asyncio.ensure_future(closing)
    await asyncio.wait([task], timeout=seconds)
    if not task.done():
        task.cancel()
    elif not task.cancelled():
        task.exception()


@asynccontextmanager
async def open_reader(
    kafka: Kafka, group: str | None = None, *, partition_bytes: int = FETCH_BYTES
) -> AsyncIterator[AIOKafkaConsumer]:
    """A consumer without subscription that commits nothing by itself.

    With fewer `partition_bytes` one fetch has records of more partitions.

    Raises:
        KafkaError: without a broker.
    """
    consumer = AIOKafkaConsumer(
        **client_options(kafka),
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=partition_bytes,
        fetch_max_bytes=FETCH_BYTES,
        fetch_max_wait_ms=100,
        request_timeout_ms=10_000,
    )
    try:
        await consumer.start()
        yield consumer
    finally:
        await close_client(consumer.stop(), 5.0)


@asynccontextmanager
async def _admin_client(kafka: Kafka, timeout: float = 5.0) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(**client_options(kafka), request_timeout_ms=int(timeout * 1000))
    try:
        await admin.start()
        yield admin
    finally:
        await close_client(admin.close())


def _new_topic(name: str, partitions: int) -> NewTopic:
    kept = {"retention.ms": str(DEAD_LETTERS_DAYS * 86_400_000)} if name.endswith(DEAD_LETTERS) else {}
    return NewTopic(name, partitions, -1, {}, kept)


def _check_created(response: object) -> None:
    for name, code, *_ in response.topic_errors:  # type: ignore[attr-defined]
        if code not in (0, TopicAlreadyExistsError.errno):
            raise for_code(code)(f"topic {name} was not created")
