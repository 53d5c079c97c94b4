"""The broker itself: its topics, whether we are still connected to it, and whether it still has what it was given."""

import asyncio
from collections.abc import Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaConnectionError, TopicAlreadyExistsError, for_code

DEAD_LETTERS = ".dlq"
DEAD_LETTERS_DAYS = 30
"""How long they are kept, when it is us who make the topic: somebody has to look first."""
RENEW_SECONDS = 45.0  # brokers close connections that were idle for ten minutes, load balancers after one
LOOK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Mark:
    """The event `event_id` was given to the broker, which acknowledged it at this place."""

    topic: str
    partition: int
    offset: int
    event_id: str


async def ensure_topics(bootstrap: str, topics: Mapping[str, int], *, timeout: float = 10.0) -> None:
    """Create those of `topics` (name -> partitions) that do not exist, each with its `.dlq` of one partition.

    All else, replicas too, is as the broker has it by default, but for how long dead letters are kept.
    """
    milliseconds = int(timeout * 1000)
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap, request_timeout_ms=milliseconds)
    try:
        await admin.start()
        existing = set(await admin.list_topics())
        wanted = {**topics, **{name + DEAD_LETTERS: 1 for name in topics}}
        missing = [_new_topic(name, count) for name, count in wanted.items() if name not in existing]
        if missing:
            _check_created(await admin.create_topics(missing, timeout_ms=milliseconds))
    finally:
        await admin.close()


def _new_topic(name: str, partitions: int) -> NewTopic:
    kept = {"retention.ms": str(DEAD_LETTERS_DAYS * 86_400_000)} if name.endswith(DEAD_LETTERS) else {}
    return NewTopic(name, partitions, -1, {}, kept)


def _check_created(response: object) -> None:
    for name, code, *_ in response.topic_errors:  # type: ignore[attr-defined]
        if code not in (0, TopicAlreadyExistsError.errno):
            raise for_code(code)(f"topic {name} was not created")


async def close_client(closing: Coroutine[Any, Any, None], seconds: float) -> None:
    """Wait for the end of an aiokafka client, whatever comes out of it: CancelledError too, when its broker is away."""
    task = asyncio.ensure_future(closing)
    await asyncio.wait([task], timeout=seconds)
    if not task.done():
        task.cancel()
    elif not task.cancelled():
        task.exception()


async def until_disconnected(bootstrap: str) -> None:
    """Hold a connection to the broker and return when the broker ends it; KafkaConnectionError when there is none.

    aiokafka hides that a broker went away and came back. One that keeps its log in memory came back empty, and then
    positions, members and topics that a client remembers mean nothing any more.
    """
    reader, writer = await _dial(bootstrap)
    try:
        while not await _closed(reader):
            fresh = await _dial(bootstrap)
            writer.close()
            reader, writer = fresh
    finally:
        writer.close()


async def _closed(reader: asyncio.StreamReader) -> bool:
    try:
        async with asyncio.timeout(RENEW_SECONDS):
            await reader.read(1)
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


async def _dial(bootstrap: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    for address in bootstrap.split(","):
        host, _, port = address.strip().rpartition(":")
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(3.0):
                return await asyncio.open_connection(host, int(port))
    raise KafkaConnectionError(f"no connection to {bootstrap}")


async def lost(bootstrap: str, marks: Sequence[Mark]) -> list[Mark]:
    """Which of `marks` (one per topic-partition) the broker has lost: it is empty there, or has something else.

    Reads the record at each mark, since ends alone do not tell: a log may have grown again beyond the mark, and Tansu's
    end lies behind the last record by the length of the last batch. What retention has deleted is not lost.
    """
    existing = await partitions(bootstrap)
    places = {place: mark for mark in marks if (place := TopicPartition(mark.topic, mark.partition)) in existing}
    if not places:
        return list(marks)
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=100,
        request_timeout_ms=5_000,
    )
    try:
        await consumer.start()
        found = await _first_records(consumer, places)
        ends = await consumer.end_offsets([place for place in places if place not in found])
        return [mark for mark in marks if _is_lost(mark, found, ends)]
    finally:
        await close_client(consumer.stop(), LOOK_SECONDS)


async def partitions(bootstrap: str, topics: Collection[str] | None = None) -> set[TopicPartition]:
    """Those of these topics, or all that there are, from the broker: a consumer knows only topics that it was told of.

    A topic that was made anew may have fewer: nobody leads those that are missing.
    """
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap, request_timeout_ms=5_000)
    try:
        await admin.start()
        found = await admin.describe_topics(None if topics is None else list(topics))
    finally:
        await close_client(admin.close(), LOOK_SECONDS)
    return {TopicPartition(t["topic"], p["partition"]) for t in found for p in t["partitions"]}


async def _first_records(
    consumer: AIOKafkaConsumer, places: Mapping[TopicPartition, Mark]
) -> dict[TopicPartition, ConsumerRecord]:
    """The first record at or after each mark, or from the start of the log when the mark lies beyond its end."""
    consumer.assign(list(places))
    for place, mark in places.items():
        consumer.seek(place, mark.offset)
    found: dict[TopicPartition, ConsumerRecord] = {}
    with suppress(TimeoutError):
        async with asyncio.timeout(LOOK_SECONDS):
            while len(found) < len(places):
                for place, records in (await consumer.getmany(timeout_ms=100)).items():
                    found.setdefault(place, records[0])
                    consumer.pause(place)
    return found


def _is_lost(mark: Mark, found: Mapping[TopicPartition, ConsumerRecord], ends: Mapping[TopicPartition, int]) -> bool:
    place = TopicPartition(mark.topic, mark.partition)
    record = found.get(place)
    if record is None:
        return ends.get(place, 0) <= mark.offset
    if record.offset == mark.offset:
        return dict(record.headers).get("ce_id") != mark.event_id.encode()
    return bool(record.offset < mark.offset)
