"""One connection to the broker as a member of a consumer group; it ends when the broker goes, even for an instant."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaConnectionError

from services.chassis import logs, metrics
from services.chassis.consumer_lag import ConsumerLag
from services.chassis.producer import MAX_MESSAGE_BYTES
from services.chassis.record_batch import partition_of
from services.chassis.topics import close_client, ensure_topics, until_disconnected
from services.chassis.unreadable_records import UNREADABLE, skip_unreadable

STATIC_FROM_SECONDS = 10.0  # below, leaving and joining is as quick as coming back under the same name
FETCH_WAIT_MS = 25
"""How long a fetch waits for news. Kafka answers as soon as there are any; Tansu looks again when the wait is over."""
JOIN_SECONDS = 60.0
COMMIT_SECONDS = 5.0
STALL_SECONDS = 30.0
GONE = "the broker closed the connection"

T = TypeVar("T")

log = logs.get(__name__)

_rebalances = metrics.counter("mobiletest_kafka_rebalances_total", "Assignments received", ["group"])


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """What a member joins. `known_topics` (name -> partitions) are made when the broker does not have them."""

    bootstrap: str
    name: str
    topics: tuple[str, ...]
    known_topics: Mapping[str, int]
    instance_id: str | None
    session_seconds: float
    fetch_wait_ms: int = FETCH_WAIT_MS


class GroupMember:
    """Fetches and commits while the broker is there; KafkaConnectionError from the moment it is not.

    aiokafka would hide a restart of the broker, and then go on at positions that mean nothing to a broker that came
    back empty. A new membership asks the broker anew for the group's offsets, which has the right answer.
    """

    def __init__(
        self,
        group: GroupConfig,
        consumer: AIOKafkaConsumer,
        gone: "asyncio.Task[None]",
        *,
        stall_seconds: float = STALL_SECONDS,
        commit_seconds: float = COMMIT_SECONDS,
    ) -> None:
        """`gone` ends when the broker has ended its connection to us."""
        self._group = group
        self._consumer = consumer
        self._gone = gone
        self._stall_seconds = stall_seconds
        self._commit_seconds = commit_seconds
        self._next: dict[TopicPartition, int] = {}
        self._lag = ConsumerLag(consumer, group.name)
        self._looked_at = monotonic()
        self._behind = False

    async def fetch(self, most: int, seconds: float) -> list[ConsumerRecord]:
        """Up to `most` records, as soon as there are any; none when `seconds` have passed."""
        try:
            batches = await self._unless_gone(self._consumer.getmany(timeout_ms=int(seconds * 1000), max_records=most))
        except UNREADABLE as error:
            log.warning("kafka_fetch_unreadable", group=self._group.name, error=repr(error))
            batches = await self._unless_gone(self._around())
        records = [record for batch in batches.values() for record in batch]
        for lost in self._next.keys() - self._consumer.assignment():
            del self._next[lost]
        if records:
            self._next.update({place: batch[-1].offset + 1 for place, batch in batches.items()})
            self._behind, self._looked_at = False, monotonic()
        elif monotonic() - self._looked_at > self._stall_seconds:
            await self._look_for_stall()
        if unknown := self._lag.fetched({place: batch[0].offset for place, batch in batches.items()}):
            await self._unless_gone(self._lag.learn(unknown))
        return records

    async def commit(self, records: Iterable[ConsumerRecord]) -> None:
        """Commit that these are dealt with, as far as they are still this member's; KafkaError when refused."""
        offsets = {partition_of(record): record.offset + 1 for record in records if self.owns(record)}
        if not offsets:
            return
        try:
            async with asyncio.timeout(self._commit_seconds):
                await self._unless_gone(self._consumer.commit(offsets))
        except TimeoutError as error:
            raise KafkaConnectionError("the commit was not answered") from error
        self._lag.committed(offsets)

    def owns(self, record: ConsumerRecord) -> bool:
        """Whether the record's partition is still assigned to this member."""
        return partition_of(record) in self._consumer.assignment()

    async def pause(self) -> None:
        """Fetch nothing, but be seen polling, until `resume`."""
        self._consumer.pause(*self._consumer.assignment())
        with suppress(*UNREADABLE):  # the next fetch comes to it
            polled = await self._unless_gone(self._consumer.getmany(timeout_ms=0, max_records=1))
            for place, batch in polled.items():  # of a partition that a rebalance has brought this moment
                self._consumer.seek(place, batch[0].offset)
        await self._unless_gone(self._lag.ask())

    def resume(self) -> None:
        self._consumer.resume(*self._consumer.paused())

    async def join(self) -> None:
        """Join the group and wait for an assignment."""
        async with asyncio.timeout(JOIN_SECONDS):
            await self._unless_gone(self._consumer.start())

    async def _unless_gone(self, work: Coroutine[Any, Any, T]) -> T:
        if self._gone.done():
            work.close()
            raise KafkaConnectionError(GONE)
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait([task, self._gone], return_when=asyncio.FIRST_COMPLETED)
            if self._gone.done():
                raise KafkaConnectionError(GONE)
            return task.result()
        finally:
            if not task.done():
                task.cancel()

    async def _around(self) -> dict[TopicPartition, list[ConsumerRecord]]:
        positions = {place: await self._position(place) for place in self._consumer.assignment()}
        return await skip_unreadable(self._consumer, positions)

    async def _position(self, place: TopicPartition) -> int:
        """Where to read on: behind what is committed, for what else was fetched may have been lost in a rebalance.

        aiokafka's own positions may lie behind what was lost with a failed fetch.
        """
        start: int | None = await self._consumer.committed(place)
        if start is None:
            start = (await self._consumer.beginning_offsets([place]))[place]
        return start

    async def _look_for_stall(self) -> None:
        """aiokafka consumers have been seen to fetch nothing for ever (aio-libs/aiokafka#1154)."""
        places = self._consumer.assignment() - self._consumer.paused()
        ends = await self._unless_gone(self._consumer.end_offsets(places)) if places else {}
        behind = any(end > self._next.get(place, end) for place, end in ends.items())
        if behind and self._behind:
            raise KafkaConnectionError("there are records, but none arrive")
        self._behind, self._looked_at = behind, monotonic()

    def leave(self) -> None:
        """It is over: another member, or the next membership, tells of the lag from here on."""
        self._lag.forget()


@asynccontextmanager
async def join_group(group: GroupConfig) -> AsyncIterator[GroupMember]:
    """A member of the group inside the block; KafkaError or TimeoutError when there is no broker."""
    await ensure_topics(group.bootstrap, group.known_topics)
    consumer = _consumer(group)
    gone = asyncio.create_task(until_disconnected(group.bootstrap), name="kafka-consumer-watch")
    member = GroupMember(group, consumer, gone)
    try:
        await member.join()
        yield member
    finally:
        member.leave()
        gone.cancel()
        await asyncio.wait([gone])
        await close_client(consumer.stop(), COMMIT_SECONDS)


def _consumer(group: GroupConfig) -> AIOKafkaConsumer:
    milliseconds = int(group.session_seconds * 1000)
    consumer = AIOKafkaConsumer(
        bootstrap_servers=group.bootstrap,
        group_id=group.name,
        group_instance_id=group.instance_id if group.session_seconds >= STATIC_FROM_SECONDS else None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=group.fetch_wait_ms,
        max_partition_fetch_bytes=MAX_MESSAGE_BYTES,
        session_timeout_ms=milliseconds,
        heartbeat_interval_ms=min(3_000, milliseconds // 4),
        max_poll_interval_ms=300_000,
        request_timeout_ms=max(10_000, milliseconds + 5_000),
        metadata_max_age_ms=30_000,
    )
    consumer.subscribe(group.topics, listener=_Listener(group.name))
    return consumer


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    """Counts what the group hands out."""

    def __init__(self, group: str) -> None:
        self._group = group

    def on_partitions_revoked(self, revoked: Sequence[TopicPartition]) -> None:
        pass

    def on_partitions_assigned(self, assigned: Sequence[TopicPartition]) -> None:
        _rebalances.labels(self._group).inc()
        log.info("kafka_partitions_assigned", group=self._group, count=len(assigned))
