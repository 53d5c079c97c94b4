"""Consuming from Kafka: batches to a handler, offsets committed after it, bad messages to the dead letters."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError

from services.chassis import logs, metrics
from services.chassis.clock import Clock, SystemClock
from services.chassis.errors import Aborted, DeadlineExceeded, Unavailable
from services.chassis.events import Event, InvalidMessage, Transient, decode
from services.chassis.kafka import DEAD_LETTERS, MAX_MESSAGE_BYTES, Producer, Record
from services.chassis.mongo import unavailable

Handler = Callable[[list[Event]], Awaitable[None]]
Pending = tuple[ConsumerRecord, Event]

MAX_POLL_AGE_SECONDS = 60.0
POLL_SECONDS = 1.0
STATIC_FROM_SECONDS = 10.0  # below, leaving and joining is as quick as coming back under the same name
FETCH_WAIT_MS = 25  # Kafka answers a waiting fetch at once; Tansu looks again when the wait is over (16 ms at 100 ms)

log = logs.get(__name__)

_dead_lettered = metrics.counter("mobiletest_dlq_messages_total", "Messages put away", ["topic", "reason"])
_commit_failures = metrics.counter("mobiletest_kafka_commit_failures_total", "Commits refused", ["group"])
_rebalances = metrics.counter("mobiletest_kafka_rebalances_total", "Assignments received", ["group"])
_delay = metrics.histogram(
    "mobiletest_event_apply_delay_seconds", "From the time of an event until it is applied", ["group"]
)


class Consumer:
    """Gives the events of `topics` in batches to `handler`; at least once, in order per partition.

    The handler may raise InvalidMessage (that event goes to `<topic>.dlq`, the others are handled), Transient or a
    domain error that means "later" (the batch is tried again with growing pauses, the partitions paused), and anything
    else, which ends `run` and so the process. Events of unknown type are the handler's to ignore.
    """

    def __init__(
        self,
        topics: Sequence[str],
        group: str,
        handler: Handler,
        *,
        bootstrap: str,
        instance_id: str | None,
        dlq: Producer,
        capacity: Callable[[], int] | None = None,
        max_batch: int = 1000,
        session_seconds: float = 30.0,
        clock: Clock | None = None,
    ) -> None:
        """`instance_id` names this member for static membership (None, or a session too short: a dynamic member).

        A member that has been silent for `session_seconds` loses its partitions to the others.
        `capacity()` bounds the next batch; at 0 nothing is fetched until `wake()`.
        """
        self._topics = list(topics)
        self._group = group
        self._handler = handler
        self._bootstrap = bootstrap
        self._instance_id = instance_id if session_seconds >= STATIC_FROM_SECONDS else None
        self._session_ms = int(session_seconds * 1000)
        self._dlq = dlq
        self._capacity = capacity or (lambda: max_batch)
        self._max_batch = max_batch
        self._clock = clock or SystemClock()
        self._wake = asyncio.Event()
        self._stopping = False
        self._polled_at = self._clock.monotonic()

    def wake(self) -> None:
        """Capacity has come free: fetch again at once."""
        self._wake.set()

    def stop(self) -> None:
        """Fetch no more; `run` returns when the batch in hand is handled and committed."""
        self._stopping = True
        self._wake.set()

    def poll_age(self) -> float:
        """Seconds since the loop last came round."""
        return self._clock.monotonic() - self._polled_at

    async def check(self) -> None:
        """For liveness: raises when the loop is stuck."""
        if (age := self.poll_age()) > MAX_POLL_AGE_SECONDS:
            raise RuntimeError(f"the Kafka consumer of {self._group} has not polled for {age:.0f} s")

    async def run(self) -> None:
        """Consume until `stop`. A broker that is away or comes back is waited for, whatever it forgot."""
        attempt = 0
        while not self._stopping:
            try:
                await self._session()
                attempt = 0
            except (KafkaError, OSError) as error:
                attempt += 1
                log.warning("kafka_consumer_disconnected", group=self._group, error=repr(error))
                await self._pause_for(backoff_seconds(attempt, most=5.0))

    async def _session(self) -> None:
        """One connection to the broker, from joining the group to leaving it or losing it."""
        consumer = self._connect()
        try:
            await consumer.start()
            log.info("kafka_consumer_connected", group=self._group, topics=self._topics)
            while not self._stopping:
                await self._round(consumer)
        finally:
            await consumer.stop()

    def _connect(self) -> AIOKafkaConsumer:
        return AIOKafkaConsumer(
            *self._topics,
            bootstrap_servers=self._bootstrap,
            group_id=self._group,
            group_instance_id=self._instance_id,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=FETCH_WAIT_MS,
            max_partition_fetch_bytes=MAX_MESSAGE_BYTES,
            session_timeout_ms=self._session_ms,
            heartbeat_interval_ms=min(3_000, self._session_ms // 4),
            max_poll_interval_ms=300_000,
            request_timeout_ms=10_000,
            metadata_max_age_ms=30_000,
        )

    async def _round(self, consumer: AIOKafkaConsumer) -> None:
        """Fetch once and deal with what came; returns after about a second at the latest when nothing does."""
        self._polled_at = self._clock.monotonic()
        room = min(self._capacity(), self._max_batch)
        if room <= 0:
            await self._wait_for_room(consumer)
            return
        found = await consumer.getmany(timeout_ms=int(POLL_SECONDS * 1000), max_records=room)
        records = [record for batch in found.values() for record in batch]
        if records and await self._handle(consumer, records):
            await self._commit(consumer, records)

    async def _wait_for_room(self, consumer: AIOKafkaConsumer) -> None:
        self._wake.clear()
        consumer.pause(*consumer.assignment())
        try:
            await consumer.getmany(timeout_ms=0)
            await self._pause_for(POLL_SECONDS)
        finally:
            consumer.resume(*consumer.paused())

    async def _handle(self, consumer: AIOKafkaConsumer, records: list[ConsumerRecord]) -> bool:
        """Bring every record to an end: handled, dead-lettered or lost to another member. False when stopped."""
        pending = [(record, event) for record in records if (event := await self._decoded(consumer, record))]
        attempt = 0
        while pending and not self._stopping:
            try:
                await self._handler([event for _, event in pending])
            except InvalidMessage as error:
                pending = await self._without_invalid(consumer, pending, error)
            except Exception as error:
                if not is_transient(error):
                    raise
                attempt += 1
                log.warning("handler_postponed", group=self._group, attempt=attempt, error=repr(error))
                await self._poll_paused(consumer, backoff_seconds(attempt))
                owned = consumer.assignment()
                pending = [item for item in pending if _partition(item[0]) in owned]
            else:
                self._observe(pending)
                return True
        return not pending

    async def _decoded(self, consumer: AIOKafkaConsumer, record: ConsumerRecord) -> Event | None:
        try:
            return decode(record.topic, record.key, record.value, record.headers)
        except InvalidMessage as error:
            await self._dead_letter(consumer, record, error)
            return None

    async def _without_invalid(
        self, consumer: AIOKafkaConsumer, pending: list[Pending], error: InvalidMessage
    ) -> list[Pending]:
        """Put the invalid one away. When the handler did not name it, ask it about each event alone."""
        if error.event is None and len(pending) > 1:
            return [item for item in pending if not await self._handled_alone(consumer, item)]
        bad = [item for item in pending if error.event is None or item[1].id == error.event.id]
        for record, _ in bad:
            await self._dead_letter(consumer, record, error)
        return [item for item in pending if item not in bad]

    async def _handled_alone(self, consumer: AIOKafkaConsumer, item: Pending) -> bool:
        try:
            await self._handler([item[1]])
        except InvalidMessage as error:
            await self._dead_letter(consumer, item[0], error)
        except Exception as error:
            if not is_transient(error):
                raise
            return False
        return True

    async def _dead_letter(self, consumer: AIOKafkaConsumer, record: ConsumerRecord, error: InvalidMessage) -> None:
        """Publish the record as it is to the dead letters; only then may its offset be committed."""
        log.error("message_dead_lettered", reason=error.reason, detail=str(error), **_place(record))
        letter = _letter(record, error, self._clock)
        attempt = 0
        while isinstance(result := (await self._dlq.publish_records([letter]))[0], Exception):
            attempt += 1
            log.warning("dead_letter_postponed", error=repr(result), **_place(record))
            await self._poll_paused(consumer, backoff_seconds(attempt))
        _dead_lettered.labels(record.topic, error.reason).inc()

    async def _poll_paused(self, consumer: AIOKafkaConsumer, seconds: float) -> None:
        """Let time pass and stay a member of the group: poll, with every partition paused."""
        until = self._clock.monotonic() + seconds
        consumer.pause(*consumer.assignment())
        try:
            while not self._stopping and (left := until - self._clock.monotonic()) > 0:
                await consumer.getmany(timeout_ms=0)
                await self._pause_for(min(left, POLL_SECONDS))
        finally:
            consumer.resume(*consumer.paused())

    async def _pause_for(self, seconds: float) -> None:
        """Wait; `wake` and `stop` end it at once."""
        self._polled_at = self._clock.monotonic()
        self._wake.clear()
        if self._stopping:
            return
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _commit(self, consumer: AIOKafkaConsumer, records: list[ConsumerRecord]) -> None:
        """Commit what was handled. A refused commit means redelivery, which handlers bear."""
        owned = consumer.assignment()
        offsets = {_partition(r): r.offset + 1 for r in records if _partition(r) in owned}
        if not offsets:
            return
        try:
            await consumer.commit(offsets)
        except KafkaError as error:
            _commit_failures.labels(self._group).inc()
            log.warning("kafka_commit_failed", group=self._group, error=repr(error))

    def _observe(self, pending: list[Pending]) -> None:
        now = self._clock.now()
        for _, event in pending:
            _delay.labels(self._group).observe(max(0.0, (now - event.time).total_seconds()))


def is_transient(error: Exception) -> bool:
    """Whether the same batch may succeed later: Transient, a dependency that is down, a lost race."""
    return isinstance(error, Transient | Unavailable | Aborted | DeadlineExceeded) or unavailable(error) is not None


def backoff_seconds(attempt: int, most: float = 30.0) -> float:
    """0.1 s doubling up to `most`, with jitter of a quarter."""
    return float(min(most, 0.05 * 2 ** min(attempt, 20)) * random.uniform(0.75, 1.25))  # noqa: S311 (jitter)


def _partition(record: ConsumerRecord) -> TopicPartition:
    return TopicPartition(record.topic, record.partition)


def _place(record: ConsumerRecord) -> dict[str, object]:
    return {"topic": record.topic, "partition": record.partition, "offset": record.offset}


def _letter(record: ConsumerRecord, error: InvalidMessage, clock: Clock) -> Record:
    why = {
        "dlq_reason": error.reason,
        "dlq_message": str(error)[:1000],
        "dlq_topic": record.topic,
        "dlq_partition": str(record.partition),
        "dlq_offset": str(record.offset),
        "dlq_first_seen": clock.now().isoformat(),
    }
    headers = [*record.headers, *((name, text.encode()) for name, text in why.items())]
    return Record(record.topic + DEAD_LETTERS, record.key, record.value, headers)
