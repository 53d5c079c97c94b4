"""Publishing to Kafka, and topics. With `consuming.py` the only user of aiokafka."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError, MessageSizeTooLargeError, TopicAlreadyExistsError, for_code

from services.chassis import logs
from services.chassis.events import Event, Headers, InvalidMessage, Transient, decode, encode

__all__ = ["Event", "InvalidMessage", "Producer", "PublishResult", "Record", "Transient", "decode", "ensure_topics"]

MAX_MESSAGE_BYTES = 4 * 1024 * 1024
DEAD_LETTERS = ".dlq"

log = logs.get(__name__)

Acknowledgement = asyncio.Future[Any]


@dataclass(frozen=True, slots=True)
class PublishResult:
    """Where an event went."""

    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Record:
    """A record as it is, for what cannot be an Event (a dead letter)."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers


async def ensure_topics(bootstrap: str, topics: Mapping[str, int], *, timeout: float = 10.0) -> None:
    """Create those of `topics` (name -> partitions) that do not exist, each with its `.dlq` of one partition."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap, request_timeout_ms=int(timeout * 1000))
    try:
        await admin.start()
        existing = set(await admin.list_topics())
        wanted = {**topics, **{name + DEAD_LETTERS: 1 for name in topics}}
        missing = [NewTopic(name, count, -1, {}) for name, count in wanted.items() if name not in existing]
        if missing:
            _check_created(await admin.create_topics(missing, timeout_ms=int(timeout * 1000)))
    finally:
        await admin.close()


def _check_created(response: object) -> None:
    for name, code, *_ in response.topic_errors:  # type: ignore[attr-defined]
        if code not in (0, TopicAlreadyExistsError.errno):
            raise for_code(code)(f"topic {name} was not created")


class Producer:
    """Publishes events; starts without a broker and connects as soon as there is one.

    After a broker that lost its topics, they are created again (`topics`: name -> partitions).
    """

    def __init__(
        self, bootstrap: str, topics: Mapping[str, int], *, idempotence: bool = True, timeout: float = 5.0
    ) -> None:
        """`timeout` in seconds bounds every publish, connecting included."""
        self._bootstrap = bootstrap
        self._topics = dict(topics)
        self._idempotence = idempotence
        self._timeout = timeout
        self._producer: AIOKafkaProducer | None = None
        self._connecting = asyncio.Lock()

    async def start(self) -> None:
        """Try to connect once; a broker that is away is no error, `publish` tries again."""
        with suppress(KafkaError, OSError, TimeoutError):
            async with asyncio.timeout(self._timeout):
                await self._connected()

    async def stop(self) -> None:
        """Send what is under way, within the time limit, and close."""
        await self._drop()

    async def __aenter__(self) -> "Producer":
        await self.start()
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self.stop()

    async def publish(self, events: Sequence[Event]) -> list[PublishResult | Exception]:
        """Publish and wait for the acknowledgements; one result per event, in order, an error never raises."""
        return await self.publish_records([Record(e.topic, e.key.encode(), e.payload, encode(e)) for e in events])

    async def publish_records(self, records: Sequence[Record]) -> list[PublishResult | Exception]:
        """The same for records as they are."""
        results: list[PublishResult | Exception] = [TimeoutError("not acknowledged in time")] * len(records)
        sent: dict[int, Acknowledgement] = {}
        try:
            async with asyncio.timeout(self._timeout):
                producer = await self._connected()
                for index, record in enumerate(records):
                    sent[index] = await _send(producer, record)
                await asyncio.wait(sent.values())
        except (KafkaError, OSError, TimeoutError) as error:
            results = [error] * len(records)
        for index, future in sent.items():
            results[index] = _result(future, results[index])
        if any(isinstance(result, Exception) and not _is_its_own_fault(result) for result in results):
            await self._drop()
        return results

    async def end_offsets(self, topics: Sequence[str]) -> dict[tuple[str, int], int]:
        """The next offset of each (topic, partition); raises when the broker does not answer in time."""
        async with asyncio.timeout(self._timeout):
            await self._connected()
            return await end_offsets(self._bootstrap, topics)

    async def _connected(self) -> AIOKafkaProducer:
        async with self._connecting:
            if self._producer is None:
                await ensure_topics(self._bootstrap, self._topics, timeout=self._timeout)
                self._producer = await self._connect()
                log.info("kafka_producer_connected", bootstrap=self._bootstrap)
            return self._producer

    async def _connect(self) -> AIOKafkaProducer:
        producer = AIOKafkaProducer(
            bootstrap_servers=self._bootstrap,
            acks="all",
            enable_idempotence=self._idempotence,
            linger_ms=0,
            max_batch_size=256 * 1024,
            max_request_size=MAX_MESSAGE_BYTES,
            request_timeout_ms=int(self._timeout * 1000),
        )
        try:
            await producer.start()
        except BaseException:
            await producer.stop()
            raise
        return producer

    async def _drop(self) -> None:
        async with self._connecting:
            producer, self._producer = self._producer, None
        if producer is not None:
            with suppress(KafkaError, OSError, TimeoutError):
                async with asyncio.timeout(self._timeout * 2):
                    await producer.stop()


async def _send(producer: AIOKafkaProducer, record: Record) -> Acknowledgement:
    try:
        sent: Acknowledgement = await producer.send(record.topic, record.value, key=record.key, headers=record.headers)
    except MessageSizeTooLargeError as error:
        sent = asyncio.get_running_loop().create_future()
        sent.set_exception(error)
    return sent


def _result(future: Acknowledgement, otherwise: PublishResult | Exception) -> PublishResult | Exception:
    if not future.done() or future.cancelled():
        return otherwise
    error = future.exception()
    if isinstance(error, Exception):
        return error
    return PublishResult(future.result().partition, future.result().offset)


def _is_its_own_fault(error: Exception) -> bool:
    return isinstance(error, MessageSizeTooLargeError)


async def end_offsets(bootstrap: str, topics: Sequence[str]) -> dict[tuple[str, int], int]:
    """The next offset of each (topic, partition) that exists."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False)
    try:
        await consumer.start()
        await consumer._client.fetch_all_metadata()
        partitions = [
            TopicPartition(topic, number) for topic in topics for number in consumer.partitions_for_topic(topic) or ()
        ]
        found = await consumer.end_offsets(partitions) if partitions else {}
        return {(partition.topic, partition.partition): offset for partition, offset in found.items()}
    finally:
        await consumer.stop()
