"""Publishing to Kafka. What knows aiokafka: this, `broker.py`, consuming with its membership and its dead letters."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError, KafkaError, MessageSizeTooLargeError

from services.chassis import logs
from services.chassis.events import Event, Headers, encode_headers
from services.chassis.topics import close_client, ensure_topics, until_disconnected

__all__ = ["MAX_MESSAGE_BYTES", "Producer", "PublishResult", "Record"]

MAX_MESSAGE_BYTES = 4 * 1024 * 1024

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


class Producer:
    """Publishes events; starts without a broker and connects as soon as there is one.

    `topics` (name -> partitions) are created with each connection, for the broker may have lost them. `connections`
    counts those: when it has grown, what was published before may be lost too.
    """

    def __init__(
        self, bootstrap: str, topics: Mapping[str, int], *, idempotence: bool = True, timeout: float = 5.0
    ) -> None:
        """`timeout` in seconds bounds every publish, connecting included."""
        self.bootstrap = bootstrap
        self.topics = dict(topics)
        self.connections = 0
        self._idempotence = idempotence
        self._timeout = timeout
        self._producer: AIOKafkaProducer | None = None
        self._connecting = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Try to connect once; a broker that is away is no error, `publish` tries again."""
        with suppress(KafkaError, OSError, TimeoutError):
            await self.connect()

    async def connect(self) -> int:
        """The number of the connection, which is made when there is none; raises when the broker is away."""
        async with asyncio.timeout(self._timeout):
            await self._connected()
        return self.connections

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

    async def publish(
        self, events: Sequence[Event], *, connection: int | None = None
    ) -> list[PublishResult | Exception]:
        """Publish and wait for the acknowledgements; one result per event, in order, an error never raises.

        With `connection` (from `connect`) nothing is published on any other.
        """
        records = [Record(e.topic, e.key.encode(), e.payload, encode_headers(e)) for e in events]
        return await self.publish_records(records, connection=connection)

    async def publish_records(
        self, records: Sequence[Record], *, connection: int | None = None
    ) -> list[PublishResult | Exception]:
        """The same for records as they are."""
        sent: dict[int, Acknowledgement] = {}
        failure: Exception = TimeoutError("not acknowledged in time")
        try:
            async with asyncio.timeout(self._timeout):
                producer = await self._connected()
                if connection not in (None, self.connections):
                    raise KafkaConnectionError("the connection was lost")
                for index, record in enumerate(records):
                    sent[index] = await _send(producer, record)
                await asyncio.wait(sent.values())
        except (KafkaError, OSError, TimeoutError) as error:
            failure = error
        results = [_result(sent.get(index), failure) for index in range(len(records))]
        if any(isinstance(result, Exception) and not _is_its_own_fault(result) for result in results):
            await self._drop()
        return results

    async def _connected(self) -> AIOKafkaProducer:
        async with self._connecting:
            if self._producer is None:
                await ensure_topics(self.bootstrap, self.topics, timeout=self._timeout)
                self._producer = await self._connect()
                self._watching = asyncio.create_task(self._watch(self._producer), name="kafka-producer-watch")
                self.connections += 1
                log.info("kafka_producer_connected", bootstrap=self.bootstrap)
            return self._producer

    async def _watch(self, producer: AIOKafkaProducer) -> None:
        """Forget the connection as soon as the broker has ended it, so that the next publish starts afresh."""
        with suppress(KafkaError, OSError):
            await until_disconnected(self.bootstrap)
        log.warning("kafka_producer_disconnected", bootstrap=self.bootstrap)
        if self._producer is producer:
            self._producer = None
        await close_client(producer.stop(), self._timeout * 2)

    async def _connect(self) -> AIOKafkaProducer:
        producer = AIOKafkaProducer(
            bootstrap_servers=self.bootstrap,
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

    async def _drop(self) -> None:
        producer, self._producer = self._producer, None
        watching, self._watching = self._watching, None
        if watching is not None:
            watching.cancel()
            await asyncio.wait([watching])
        if producer is not None:
            await close_client(producer.stop(), self._timeout * 2)


async def _send(producer: AIOKafkaProducer, record: Record) -> Acknowledgement:
    try:
        sent: Acknowledgement = await producer.send(record.topic, record.value, key=record.key, headers=record.headers)
    except MessageSizeTooLargeError as error:
        sent = asyncio.get_running_loop().create_future()
        sent.set_exception(error)
    return sent


def _result(future: Acknowledgement | None, otherwise: Exception) -> PublishResult | Exception:
    if future is None or not future.done() or future.cancelled():
        return otherwise
    error = future.exception()
    if isinstance(error, Exception):
        return error
    return PublishResult(future.result().partition, future.result().offset)


def _is_its_own_fault(error: Exception) -> bool:
    return isinstance(error, MessageSizeTooLargeError)
