"""Consuming from Kafka: batches go to a handler, then offsets are committed; invalid messages are dead-lettered."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial

from aiokafka import ConsumerRecord
from aiokafka.errors import KafkaError

from services.chassis import logs, metrics
from services.chassis.batcher import run_in_halves
from services.chassis.clock import Clock, SystemClock
from services.chassis.dead_letters.letters import DeadLetterWriter
from services.chassis.dead_letters.limit import DlqLimit, DlqLimitState
from services.chassis.events import Event, InvalidMessage, TransientError
from services.chassis.group_member import FETCH_WAIT_MS, GroupConfig, GroupMember, join_group
from services.chassis.kafka_cluster import Kafka
from services.chassis.producer import Producer
from services.chassis.record_batch import RecordBatch
from services.chassis.retry import backoff_seconds, is_bug, is_transient

Handler = Callable[[list[Event]], Awaitable[Sequence[InvalidMessage] | None]]
Join = Callable[[GroupConfig], AbstractAsyncContextManager[GroupMember]]

# Longer than a failed attempt to join takes, so that an outage of the broker does not restart this process.
MAX_POLL_AGE_SECONDS = 90.0
POLL_SECONDS = 1.0
# Attempts before an event on which the handler has a bug is dead-lettered.
MAX_ATTEMPTS = 3
# Between these attempts. Drivers raise the same kinds of errors at the moment when a connection breaks.
RETRY_SECONDS = 0.25
HOLD_SECONDS = 60.0
# Up to an hour, for catching up after an outage.
DELAY_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 30, 60, 300, 900, 3600)

log = logs.get(__name__)

_commit_failures = metrics.counter("mobiletest_kafka_commit_failures_total", "Offset commits that failed", ["group"])
_poll_age = metrics.gauge("mobiletest_kafka_consumer_poll_age_seconds", "Seconds since the last poll", ["group"])
_delay = metrics.histogram(
    "mobiletest_event_apply_delay_seconds", "Seconds from an event until it is handled", ["group"], DELAY_BUCKETS
)


class Consumer:
    """Passes the events of `topics` in batches to `handler`: at least once, in order per partition.

    The handler returns an InvalidMessage for each event that can never be handled: those are dead-lettered in
    `<topic>.dlq`, as are records that are no events. (It may raise an InvalidMessage instead: then it is called again
    with the other events, and about twenty times if the message does not name its event.) After a transient error (see
    `is_transient`) the batch is retried with backoff, its partitions paused. Any other error ends `run` and with it the
    process. A partition with too many invalid messages is held: the others go on, and it is tried again after
    `hold_seconds`. The handler ignores events of unknown types.
    """

    def __init__(
        self,
        topics: Sequence[str],
        group: str,
        handler: Handler,
        *,
        kafka: Kafka,
        instance_id: str | None,
        dlq: Producer,
        capacity: Callable[[], int] | None = None,
        max_batch: int = 1000,
        session_seconds: float = 30.0,
        fetch_wait_ms: int = FETCH_WAIT_MS,
        quiet_fetch_wait_ms: int | None = None,
        dlq_limit: DlqLimit | None = None,
        hold_seconds: float = HOLD_SECONDS,
        clock: Clock | None = None,
        join: Join = join_group,
    ) -> None:
        """`instance_id` makes this a static member of the group (see `GroupConfig`).

        A member that has been silent for `session_seconds` loses its partitions to the others.
        `fetch_wait_ms`: a longer wait saves CPU with a broker that looks for records only now and then during the wait;
        `quiet_fetch_wait_ms` is the wait while no records come.
        `capacity()` limits the next batch; at 0 nothing is fetched until `wake()`.
        `dlq_limit`: how many messages of a partition may be invalid. With it, failing batches are bisected and events
        on which the handler has a bug are dead-lettered and counted too, so the handler must be idempotent. Without it
        there is no limit, and a bug ends `run`.
        """
        waits = fetch_wait_ms, quiet_fetch_wait_ms
        self._group = GroupConfig(kafka, group, tuple(topics), dlq.topics, instance_id, session_seconds, *waits)
        self._handler = handler
        self._capacity = capacity or (lambda: max_batch)
        self._max_batch = max_batch
        self._clock = clock or SystemClock()
        self._dead_letters = DeadLetterWriter(dlq, self._clock, group)
        self._dlq_state = DlqLimitState(dlq_limit or DlqLimit())
        self._bisects = dlq_limit is not None
        self._hold_seconds = hold_seconds
        self._join = join
        self._wake = asyncio.Event()
        self._stopping = False
        self._fetching: asyncio.Task[list[ConsumerRecord]] | None = None
        self._polled_at = self._clock.monotonic()
        self._member: GroupMember | None = None

    def wake(self) -> None:
        """There is capacity again: fetch at once."""
        self._wake.set()

    def stop(self) -> None:
        """Stop fetching; `run` returns when the current batch is handled and committed."""
        self._stopping = True
        self._wake.set()
        if self._fetching is not None:
            self._fetching.cancel()

    def poll_age(self) -> float:
        """Seconds since the last poll."""
        return self._clock.monotonic() - self._polled_at

    def is_current(self, seconds: float) -> bool:
        """Whether the broker answered a fetch of every assigned partition in the last `seconds`."""
        return self._member is not None and self._member.is_current(seconds)

    def owns_key(self, topic: str, key: str) -> bool:
        """Whether events with this key come to this consumer; True while it is not in the group."""
        return self._member is None or self._member.owns_key(topic, key)

    async def check(self) -> None:
        """The liveness check.

        Raises:
            RuntimeError: the loop is stuck.
        """
        if (age := self.poll_age()) > MAX_POLL_AGE_SECONDS:
            raise RuntimeError(f"the Kafka consumer of {self._group.name} has not polled for {age:.0f} s")

    async def run(self) -> None:
        """Consume until `stop`, through outages of the broker."""
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
        self._member = member
        try:
            while not self._stopping:
                self._polled_at = self._clock.monotonic()
                room = min(self._capacity(), self._max_batch)
                if room <= 0:
                    await self._pause(member, POLL_SECONDS)
                    continue
                records = await self._fetch(member, room)
                if records and await self._finish(member, batch := RecordBatch(records)):
                    await self._commit(member, batch.owned_records())
        finally:
            self._member = None

    async def _fetch(self, member: GroupMember, room: int) -> list[ConsumerRecord]:
        """The next records; none as soon as `stop` is called, which then need not wait for the poll."""
        self._fetching = asyncio.create_task(member.fetch(room, POLL_SECONDS))
        try:
            return await self._fetching
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self._stopping or (task is not None and task.cancelling()):
                raise
            return []
        finally:
            self._fetching = None

    async def _finish(self, member: GroupMember, batch: RecordBatch) -> bool:
        """Handle or dead-letter every record, but those lost in a rebalance or held; False when stopped before that."""
        if not await self._handle(member, batch):
            return False
        if not batch.refused:
            self._dlq_state.count_valid(batch.owned_records())
            return True
        self._hold_over_limit(member, batch)
        self._dlq_state.count(batch.outcomes())
        return await self._dead_letter(member, batch)

    def _hold_over_limit(self, member: GroupMember, batch: RecordBatch) -> None:
        """Hold the partitions with too many invalid messages: all of their records in the batch come again."""
        for partition, why in self._dlq_state.over_limit(batch.outcomes()).items():
            place = {"topic": partition.topic, "partition": partition.partition, "retry_seconds": self._hold_seconds}
            log.error("kafka_partition_held", group=self._group.name, error=why, **place)
            member.hold(partition, batch.drop(partition), self._hold_seconds)

    async def _handle(self, member: GroupMember, batch: RecordBatch) -> bool:
        """Call the handler until every event is handled or refused; False when stopped before that."""
        try:
            await run_in_halves(list(batch.events), partial(self._handle_part, member, batch))
        except _Stopped:
            return False
        return True

    async def _handle_part(self, member: GroupMember, batch: RecordBatch, part: Sequence[int]) -> bool:
        """Handle or refuse the events of these records; False, when one of several fails the handler, for their halves
        to be handled. _Stopped.
        """
        attempt = failures = 0
        while events := batch.events_of(part):
            if self._stopping:
                raise _Stopped
            try:
                batch.refuse(await self._handler(list(events.values())) or ())
            except InvalidMessage as error:
                if error.event is not None:
                    batch.refuse([error])
                elif len(events) > 1:
                    return False
                else:
                    batch.refuse_one(next(iter(events)), error)
            except Exception as error:
                if self._bisects and is_bug(error):
                    failures += 1
                    await self._narrow_down(member, batch, events, error, failures)
                    if len(events) > 1:
                        return False
                else:
                    # Counted apart from failures: transient errors say nothing about events, and dead-letter none.
                    attempt += 1
                    await self._postpone(member, error, attempt)
                    batch.drop_lost(member.owns)
            else:
                self._measure_delay(batch.events_of(part).values())
                return True
        return True

    async def _narrow_down(
        self, member: GroupMember, batch: RecordBatch, events: Collection[int], error: Exception, failures: int
    ) -> None:
        """Refuse a single event after MAX_ATTEMPTS; hold its partition when too many are refused."""
        retries = len(events) == 1 and failures < MAX_ATTEMPTS
        waits = retries and batch.is_new(error)
        if len(events) == 1 and not retries:
            batch.refuse_one(next(iter(events)), error)
            self._hold_over_limit(member, batch)
        if waits or self.poll_age() > POLL_SECONDS:  # not each time: a pause discards prefetched records
            await self._pause(member, RETRY_SECONDS if waits else 0)
        batch.drop_lost(member.owns)

    async def _postpone(self, member: GroupMember, error: Exception, attempt: int) -> None:
        """Wait before the batch is retried; _HandlerFailed when the error is not transient."""
        if not is_transient(error):
            raise _HandlerFailed(error)
        log.warning("handler_postponed", group=self._group.name, attempt=attempt, error=repr(error))
        until = self._clock.monotonic() + backoff_seconds(attempt)
        while not self._stopping and (left := until - self._clock.monotonic()) > 0:
            await self._pause(member, min(left, POLL_SECONDS))

    async def _dead_letter(self, member: GroupMember, batch: RecordBatch) -> bool:
        """Write the dead letters, before the offsets are committed; False when stopped before that."""
        attempt = 0
        while letters := batch.letters():
            left = await self._dead_letters.write(letters)
            batch.mark_written(left)
            if not left:
                break
            if self._stopping:
                return False
            attempt += 1
            await self._postpone(member, TransientError(f"{len(left)} dead letters could not be written"), attempt)
            batch.drop_lost(member.owns)
        return True

    async def _pause(self, member: GroupMember, seconds: float) -> None:
        """Wait with paused partitions, but keep polling."""
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
        """Commit; if that fails (in a rebalance, say), the records are delivered again, and handlers are idempotent.

        TimeoutError, which ends the membership, when the broker does not answer.
        """
        try:
            await member.commit(records)
        except (KafkaError, TimeoutError) as error:
            _commit_failures.labels(self._group.name).inc()
            log.warning("kafka_commit_failed", group=self._group.name, error=repr(error))
            if isinstance(error, TimeoutError):
                raise

    def _measure_delay(self, events: Iterable[Event]) -> None:
        now = self._clock.now()
        delay = _delay.labels(self._group.name)
        for event in events:
            delay.observe(max(0.0, (now - event.time).total_seconds()))


class _Stopped(Exception):
    """`stop` was called before the batch was handled."""


class _HandlerFailed(Exception):
    """Wraps an error of the handler, to tell it apart from an error of the connection of the same class."""

    def __init__(self, error: Exception) -> None:
        super().__init__(repr(error))
        self.error = error
