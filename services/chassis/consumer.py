"""Consuming from Kafka: batches to a handler, offsets committed after it, bad messages to the dead letters."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager

from aiokafka import ConsumerRecord
from aiokafka.errors import KafkaError

from services.chassis import logs, metrics
from services.chassis.batch_bisector import RETRY_SECONDS, BatchBisector, is_bug
from services.chassis.clock import Clock, SystemClock
from services.chassis.dead_letters.letters import DeadLetterWriter
from services.chassis.dead_letters.limit import DlqLimit, DlqLimitState
from services.chassis.events import Event, InvalidMessage, TransientError
from services.chassis.group_member import FETCH_WAIT_MS, GroupConfig, GroupMember, join_group
from services.chassis.producer import Producer
from services.chassis.record_batch import RecordBatch
from services.chassis.retry import backoff_seconds as backoff_seconds
from services.chassis.retry import is_transient as is_transient

Handler = Callable[[list[Event]], Awaitable[Sequence[InvalidMessage] | None]]
Join = Callable[[GroupConfig], AbstractAsyncContextManager[GroupMember]]

MAX_POLL_AGE_SECONDS = 90.0
"""Longer than a fruitless attempt to join takes: a broker's outage is no reason to restart this process."""
POLL_SECONDS = 1.0
DELAY_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 30, 60, 300, 900, 3600)
"""From fresh to an hour late: what a catch-up after an outage shows."""

log = logs.get(__name__)

_commit_failures = metrics.counter("mobiletest_kafka_commit_failures_total", "Commits refused", ["group"])
_poll_age = metrics.gauge("mobiletest_kafka_consumer_poll_age_seconds", "Time since the last poll", ["group"])
_delay = metrics.histogram(
    "mobiletest_event_apply_delay_seconds", "From an event's time until it is applied", ["group"], DELAY_BUCKETS
)


class Consumer:
    """Gives the events of `topics` in batches to `handler`; at least once, in order per partition.

    The handler handles what it can and gives an InvalidMessage for each event that can never work: those go to
    `<topic>.dlq`, beside the records that are no events at all. (It may raise one instead, which costs it another call
    with the others, and some twenty calls when the message does not name its event.) It may raise Transient or a domain
    error that means "later" (the batch is tried again with growing pauses, the partitions paused), and anything else,
    which ends `run` and so the process; as does TooManyInvalid. Events of unknown type are its to ignore.
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
        fetch_wait_ms: int = FETCH_WAIT_MS,
        tolerance: DlqLimit | None = None,
        clock: Clock | None = None,
        join: Join = join_group,
    ) -> None:
        """`instance_id` names this member for static membership (None, or a session under 10 s: a dynamic member).

        A member that has been silent for `session_seconds` loses its partitions to the others.
        `fetch_wait_ms`: a longer wait spares a broker that looks for news only when the wait is over.
        `capacity()` bounds the next batch; at 0 nothing is fetched until `wake()`.
        `tolerance`: which share of invalid messages is too much. With it events that the handler fails on by a bug are
        put away and count too; so it has to bear being given what it has handled. By default all may be invalid, and a
        bug ends `run`.
        """
        self._group = GroupConfig(
            bootstrap, group, tuple(topics), dlq.topics, instance_id, session_seconds, fetch_wait_ms
        )
        self._handler = handler
        self._capacity = capacity or (lambda: max_batch)
        self._max_batch = max_batch
        self._clock = clock or SystemClock()
        self._dead_letters = DeadLetterWriter(dlq, self._clock, group)
        self._share = DlqLimitState(tolerance or DlqLimit())
        self._bisects = tolerance is not None
        self._join = join
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
            raise RuntimeError(f"the Kafka consumer of {self._group.name} has not polled for {age:.0f} s")

    async def run(self) -> None:
        """Consume until `stop`. A broker that is away or comes back is waited for, whatever it forgot."""
        _poll_age.labels(self._group.name).set_function(self.poll_age)
        attempt = 0
        while not self._stopping:
            try:
                async with self._join(self._group) as member:
                    log.info("kafka_consumer_joined", group=self._group.name, topics=self._group.topics)
                    attempt = 0
                    await self._consume(member)
            except (KafkaError, OSError, TimeoutError) as error:
                attempt += 1
                log.warning("kafka_consumer_disconnected", group=self._group.name, error=repr(error))
                await self._rest(backoff_seconds(attempt, most=2.0))
            except _HandlerFailed as failed:
                raise failed.error from failed.error.__cause__

    async def _consume(self, member: GroupMember) -> None:
        while not self._stopping:
            self._polled_at = self._clock.monotonic()
            room = min(self._capacity(), self._max_batch)
            if room <= 0:
                await self._pause(member, POLL_SECONDS)
                continue
            records = await member.fetch(room, POLL_SECONDS)
            if records and await self._finish(member, batch := RecordBatch(records)):
                await self._commit(member, batch.kept())

    async def _finish(self, member: GroupMember, batch: RecordBatch) -> bool:
        """See every record handled, put away or lost to another member; False when stopped before."""
        if not await self._handled(member, batch):
            return False
        self._share.count(batch.records, batch.refused)
        return await self._dead_letter(member, batch)

    async def _handled(self, member: GroupMember, batch: RecordBatch) -> bool:
        """Whether the handler has done with every event, as often as it takes; False when stopped before."""
        attempt, parts = 0, BatchBisector(batch)
        while (part := parts.next()) and not self._stopping:
            try:
                batch.refuse(await self._handler(list(part.values())) or ())
            except InvalidMessage as error:
                self._refuse(batch, parts, error)
            except Exception as error:
                if self._bisects and is_bug(error):
                    await self._search(member, batch, parts, error)
                else:
                    attempt += 1
                    await self._postpone(member, error, attempt)
                batch.keep(member.owns)
            else:
                self._measure_delay(parts.handled())
        return not part

    def _refuse(self, batch: RecordBatch, parts: BatchBisector, error: InvalidMessage) -> None:
        """Note which one it was. When the handler did not name it, it is to be found."""
        if error.event is not None:
            batch.refuse([error])
        else:
            parts.failed(error)

    async def _search(self, member: GroupMember, batch: RecordBatch, parts: BatchBisector, error: Exception) -> None:
        """Come nearer to the events that the handler fails on; TooManyInvalid as soon as they are."""
        waits = parts.failed(error)
        self._share.check(batch.records, batch.refused)
        if waits or self.poll_age() > POLL_SECONDS:  # not each time: a pause costs what was fetched ahead
            await self._pause(member, RETRY_SECONDS if waits else 0)

    async def _postpone(self, member: GroupMember, error: Exception, attempt: int) -> None:
        """Wait before the batch is tried again; _HandlerFailed when that would not help."""
        if not is_transient(error):
            raise _HandlerFailed(error)
        log.warning("handler_postponed", group=self._group.name, attempt=attempt, error=repr(error))
        until = self._clock.monotonic() + backoff_seconds(attempt)
        while not self._stopping and (left := until - self._clock.monotonic()) > 0:
            await self._pause(member, min(left, POLL_SECONDS))

    async def _dead_letter(self, member: GroupMember, batch: RecordBatch) -> bool:
        """Put them into the dead letters; only then may their offsets be committed. False when stopped before."""
        attempt = 0
        while letters := batch.letters():
            left = await self._dead_letters.write(letters)
            batch.written(left)
            if not left:
                break
            if self._stopping:
                return False
            attempt += 1
            await self._postpone(member, TransientError(f"{len(left)} dead letters could not be written"), attempt)
            batch.keep(member.owns)
        return True

    async def _pause(self, member: GroupMember, seconds: float) -> None:
        """Let time pass as a member that polls but wants nothing."""
        await member.pause()
        try:
            await self._rest(seconds)
        finally:
            member.resume()

    async def _rest(self, seconds: float) -> None:
        """Wait; `wake` and `stop` end it at once."""
        self._polled_at = self._clock.monotonic()
        if self._stopping:
            return
        self._wake.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _commit(self, member: GroupMember, records: list[ConsumerRecord]) -> None:
        """Commit what is dealt with. A refusal (a rebalance, say) means redelivery, which handlers bear."""
        try:
            await member.commit(records)
        except KafkaError as error:
            _commit_failures.labels(self._group.name).inc()
            log.warning("kafka_commit_failed", group=self._group.name, error=repr(error))

    def _measure_delay(self, events: Iterable[Event]) -> None:
        now = self._clock.now()
        delay = _delay.labels(self._group.name)
        for event in events:
            delay.observe(max(0.0, (now - event.time).total_seconds()))


class _HandlerFailed(Exception):
    """Carries what a handler raised past the errors of the connection, which may be of the same class."""

    def __init__(self, error: Exception) -> None:
        super().__init__(repr(error))
        self.error = error
