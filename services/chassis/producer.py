"""Publishing to Kafka."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, MessageSizeTooLargeError

from services.chassis import logs, metrics
from services.chassis.events import Event, Headers, encode_headers
from services.chassis.kafka_cluster import Kafka, client_options
from services.chassis.topics import close_client, ensure_topics

MAX_MESSAGE_BYTES = 4 * 1024 * 1024

log = logs.get(__name__)

_failures = metrics.counter("mobiletest_kafka_publish_failures_total", "Records not published", ["topic", "error"])

Acknowledgement = asyncio.Future[Any]


@dataclass(frozen=True, slots=True)
class PublishResult:
    """Where an event went."""

    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Record:
    """A raw record, for what is not an Event, such as a dead letter."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers


class Producer:
    """Publishes events; starts without a broker and connects as soon as there is one.

    `topics` (name -> partitions) are created with each connection. After a failed publish the connection is closed, and
    the next publish opens another.
    """

    def __init__(
        self, kafka: Kafka, topics: Mapping[str, int], *, idempotence: bool = True, timeout: float = 5.0
    ) -> None:
        """`timeout` in seconds bounds every publish, connecting included."""
        self.kafka = kafka
        self.topics = dict(topics)
        self._idempotence = idempotence
        self._timeout = timeout
        self._producer: AIOKafkaProducer | None = None
        self._connecting = asyncio.Lock()
        self._starting: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to connect. A service is ready without waiting for that; without a broker `publish` tries again."""
        self._starting = asyncio.create_task(self._try_to_connect())

    async def _try_to_connect(self) -> None:
        with suppress(KafkaError, OSError, TimeoutError):
            async with asyncio.timeout(self._timeout):
                await self._connected()

    async def stop(self) -> None:
        """Send pending records, within the time limit, and close."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait([self._starting])
        producer, self._producer = self._producer, None
        if producer is not None:
            await close_client(producer.stop(), self._timeout * 2)

    async def __aenter__(self) -> "Producer":
        await self.start()
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self.stop()

    async def publish(self, events: Sequence[Event]) -> list[PublishResult | Exception]:
        """Publish and wait for the acknowledgements: one result per event, in order. Errors are results, not raised."""
        return await self.publish_records(
            [Record(e.topic, e.key.encode(), e.payload, encode_headers(e)) for e in events]
        )

    async def publish_records(self, records: Sequence[Record]) -> list[PublishResult | Exception]:
        """The same for records as they are."""
        sent: dict[int, Acknowledgement] = {}
        failure: Exception = TimeoutError("not acknowledged in time")
        try:
            async with asyncio.timeout(self._timeout):
                producer = await self._connected()
                for index, record in enumerate(records):
                    sent[index] = await _send(producer, record)
                await asyncio.wait(sent.values())
        except (KafkaError, OSError, TimeoutError) as error:
            failure = error
        results = [_result(sent.get(index), failure) for index in range(len(records))]
        if any(
            isinstance(result, Exception) and not isinstance(result, MessageSizeTooLargeError) for result in results
        ):
            await self.stop()
        for record, result in zip(records, results, strict=True):
            if isinstance(result, Exception):
                _failures.labels(record.topic, type(result).__name__).inc()
        return results

    async def _connected(self) -> AIOKafkaProducer:
        async with self._connecting:
            if self._producer is None:
                await ensure_topics(self.kafka, self.topics, timeout=self._timeout)
                self._producer = await self._connect()
                log.info("kafka_producer_connected", bootstrap=str(self.kafka))
            return self._producer

    async def _connect(self) -> AIOKafkaProducer:
        producer = AIOKafkaProducer(
            **client_options(self.kafka),
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
            await close_client(producer.stop(), self._timeout)
            raise
        return producer


async def _send(producer: AIOKafkaProducer, record: Record) -> Acknowledgement:
    try:
        sent: Acknowledgement = await producer.send(record.topic, record.value, key=record.key, headers=record.headers)
    except MessageSizeTooLargeError as error:
        sent = asyncio.get_running_loop().create_future()
        sent.set_exception(error)
    sent.add_done_callback(_retrieve)
    return sent


def _retrieve(future: Acknowledgement) -> None:
    """A publish that has timed out waits for nothing any more; its records fail later, when aiokafka gives them up."""
    if not future.cancelled():
        future.exception()


def _result(future: Acknowledgement | None, otherwise: Exception) -> PublishResult | Exception:
    if future is None or not future.done() or future.cancelled():
        return otherwise
    error = future.exception()
    if isinstance(error, Exception):
        return error
    return PublishResult(future.result().partition, future.result().offset)
