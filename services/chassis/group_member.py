"""A member of a consumer group: fetches, commits, pauses, and shows its lag."""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from time import monotonic, time

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, ConsumerRecord, TopicPartition
from aiokafka.errors import (
    CommitFailedError,
    IllegalGenerationError,
    KafkaConnectionError,
    KafkaError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from aiokafka.partitioner import DefaultPartitioner
from aiokafka.structs import OffsetAndMetadata

from services.chassis import logs, metrics
from services.chassis.aiokafka_internals import GenerationCommits, connections, fetch_committed, set_fetch_wait
from services.chassis.consumer_lag import ConsumerLag
from services.chassis.kafka_cluster import Kafka, client_options
from services.chassis.producer import MAX_MESSAGE_BYTES
from services.chassis.topic_ids import ReadTopics, TopicDescription, TopicIds, describe_topics, ids_of, in_topic
from services.chassis.topics import close_client, ensure_topics, partition_of
from services.chassis.unreadable_records import UNREADABLE, skip_unreadable

# How long a fetch waits for records. Kafka answers as soon as there are any. Tansu looks after a half, three quarters,
# seven eighths of the wait and so on: a record is late by up to a half, and each look costs CPU.
FETCH_WAIT_MS = 25
# How often aiokafka's fetcher wakes up for nothing: what it waits for (answers, reads, rebalances, metadata) wakes it
# at once. Its own 200 ms were a third of the switches of an idle worker's main thread.
FETCHER_WAIT_MS = 2_000
# After this long without records a fetch waits for `quiet_fetch_wait_ms`.
QUIET_SECONDS = 10.0
JOIN_SECONDS = 60.0
REQUEST_SECONDS = 15.0
COMMIT_SECONDS = 5.0
COMMIT_RETRY_SECONDS = 0.1
# How the broker refuses the commit of a member of an earlier generation.
EXCLUDED = (UnknownMemberIdError, IllegalGenerationError, RebalanceInProgressError)
STALL_SECONDS = 30.0
# How often a member looks whether its topics are still the same. After a longer freeze it looks at once.
TOPIC_SECONDS = 10.0
# The same for a member without partitions of a topic, which may not have existed at the last rebalance.
MISSING_SECONDS = 2.0
_PARTITIONER = DefaultPartitioner()

log = logs.get(__name__)

_held = metrics.gauge(
    "mobiletest_kafka_partition_held", "1 while too many messages are invalid", ["topic", "partition", "group"]
)
_rebalances = metrics.counter("mobiletest_kafka_rebalances_total", "Partition assignments received", ["group"])


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """The group to join. `known_topics` (name -> partitions) are created where the broker does not have them.

    With an `instance_id` the membership is static: it stays with whoever joins under this id next, and its partitions
    idle until then or until the session ends. Without one a member that ends leaves the group at once.
    """

    kafka: Kafka
    name: str
    topics: tuple[str, ...]
    known_topics: Mapping[str, int]
    instance_id: str | None
    session_seconds: float
    fetch_wait_ms: int = FETCH_WAIT_MS
    quiet_fetch_wait_ms: int | None = None
    read_topics: ReadTopics = field(default_factory=ReadTopics)


class GroupMember(ConsumerRebalanceListener):  # type: ignore[misc]
    """One membership in a consumer group. aiokafka reconnects and rejoins by itself after an outage of the broker;
    KafkaError or TimeoutError means that it could not, and that a new membership is needed.

    After a rebalance, reading starts again at the committed offsets, on whichever member has the partition then. So
    what was fetched before is not owned any more, and is not committed.

    When a topic was deleted and created again, or lost by its broker, the member commits the beginning and ends. It
    also ends when a topic has other partitions than at a rebalance: Tansu gives a member that rejoins what it had.
    """

    def __init__(
        self,
        group: GroupConfig,
        consumer: AIOKafkaConsumer,
        *,
        stall_seconds: float = STALL_SECONDS,
        commit_seconds: float = COMMIT_SECONDS,
        rebalance_seconds: float = JOIN_SECONDS,
        quiet_seconds: float = QUIET_SECONDS,
        topic_seconds: float = TOPIC_SECONDS,
    ) -> None:
        """`rebalance_seconds`: how long a rebalance may take before the membership ends."""
        self._group = group
        self._consumer = consumer
        self._stall_seconds = stall_seconds
        self._commit_seconds = commit_seconds
        self._rebalance_seconds = rebalance_seconds
        self._quiet_seconds = quiet_seconds
        self._topic_seconds = topic_seconds
        self._compared: set[TopicPartition] = set()
        self._partition_counts: dict[str, set[int]] = {name: set() for name in group.topics}
        self._compared_at = monotonic()
        self._next: dict[TopicPartition, int] = {}
        self._lag = ConsumerLag(consumer, group.name)
        self._checked_at = monotonic()
        self._received_at = monotonic()
        self._behind = False
        self._rebalanced = False
        self._held: dict[TopicPartition, float] = {}

    async def fetch(self, most: int, seconds: float) -> list[ConsumerRecord]:
        """Up to `most` records, as soon as there are any; none when `seconds` have passed."""
        await self._watch_held()
        try:
            batches = await self._poll(most, seconds)
        except UNREADABLE as error:
            log.warning("kafka_fetch_unreadable", group=self._group.name, error=repr(error))
            batches = await self._skip_unreadable()
        # What was just polled was fetched under the present assignment, whatever was revoked before.
        self._rebalanced = False
        await self._watch_topics(batches)
        records = [record for batch in batches.values() for record in batch]
        # Another member reads these on: that their end moves away says nothing about a stall here.
        for lost in self._next.keys() - self._consumer.assignment():
            del self._next[lost]
        if records:
            self._next.update({partition: batch[-1].offset + 1 for partition, batch in batches.items()})
            self._behind, self._checked_at, self._received_at = False, monotonic(), monotonic()
        elif monotonic() - self._checked_at > self._stall_seconds:
            await self._check_for_stall()
        if unknown := self._lag.fetched({partition: batch[0].offset for partition, batch in batches.items()}):
            await self._lag.learn(unknown)
        self._set_fetch_wait()
        return records

    def _set_fetch_wait(self) -> None:
        if self._group.quiet_fetch_wait_ms is not None:
            is_quiet = monotonic() - self._received_at > self._quiet_seconds
            wait = self._group.quiet_fetch_wait_ms if is_quiet else self._group.fetch_wait_ms
            set_fetch_wait(self._consumer, wait)

    async def _watch_topics(self, fetched: Collection[TopicPartition]) -> None:
        """Now and then, and when partitions were assigned. KafkaConnectionError when topics were lost."""
        assigned = self._consumer.assignment()
        new, missing = assigned - self._compared, set(self._group.topics) - {partition.topic for partition in assigned}
        wait = min(MISSING_SECONDS, self._topic_seconds) if missing else self._topic_seconds
        if not new and monotonic() - self._compared_at < wait:
            return
        self._compared_at = monotonic()
        try:
            async with asyncio.timeout(self._commit_seconds):
                described = await describe_topics(connections(self._consumer), self._group.topics)
                committed = await fetch_committed(self._consumer, new)
        except (KafkaError, TimeoutError):  # without a broker they are compared later, but before they are committed
            if new.intersection(fetched):
                raise
        else:
            await self._compare_topics(new, committed, described)

    async def _compare_topics(
        self,
        new: set[TopicPartition],
        committed: Mapping[TopicPartition, OffsetAndMetadata],
        described: Mapping[str, TopicDescription],
    ) -> None:
        # The partitions changed while the broker was asked; they are compared again after the next fetch.
        if self._rebalanced:
            return
        ids, read = ids_of(described), self._group.read_topics
        if lost := read.lost(self._compared | new, committed, ids):
            await self._begin_again(lost, ids)
        self._compared |= new
        read.begin(self._compared, ids)
        for name, topic in described.items():
            if self._partition_counts[name] - {topic.partitions}:
                raise KafkaConnectionError(f"{name} has other partitions than at a rebalance of this membership")

    async def _begin_again(self, lost: set[TopicPartition], ids: TopicIds) -> None:
        """Commit the beginning, for whoever reads these partitions next, and end the membership."""
        names = sorted({partition.topic for partition in lost})
        log.warning("kafka_topics_lost", group=self._group.name, topics=names)
        with suppress(KafkaError, TimeoutError):  # a new member finds them lost, too
            async with asyncio.timeout(self._commit_seconds):
                await self._commit_in_generation({each: in_topic(ids[each.topic], 0) for each in lost})
                self._group.read_topics.begin(lost, ids)
        raise KafkaConnectionError(f"{', '.join(names)} are not the topics that were read, but new ones")

    async def commit(self, records: Iterable[ConsumerRecord]) -> None:
        """Commit those that this member still owns.

        Raises:
            CommitFailedError: after a rebalance.
            KafkaError: the broker refuses or cannot be reached.
            TimeoutError: the broker does not answer in time.
        """
        offsets = {partition_of(record): record.offset + 1 for record in records if self.owns(record)}
        if not offsets:
            return
        async with asyncio.timeout(self._commit_seconds):
            read = self._group.read_topics
            await self._commit_in_generation({place: read.offset(place, at) for place, at in offsets.items()})
        self._lag.committed(offsets)

    def owns(self, record: ConsumerRecord) -> bool:
        """Whether the partition of this record of the last fetch has been assigned to this member ever since."""
        return not self._rebalanced and partition_of(record) in self._consumer.assignment()

    def owns_key(self, topic: str, key: str) -> bool:
        """Whether the partition of this key is assigned to this member."""
        partitions = sorted(self._consumer.partitions_for_topic(topic) or ())
        if not partitions:
            return False
        return TopicPartition(topic, _PARTITIONER(key.encode(), partitions, partitions)) in self._consumer.assignment()

    def is_current(self, seconds: float) -> bool:
        """Whether the broker answered a fetch of every assigned partition in the last `seconds`."""
        since = (time() - seconds) * 1000
        assigned = self._consumer.assignment()
        return bool(assigned) and all((self._consumer.last_poll_timestamp(p) or 0) >= since for p in assigned)

    async def pause(self) -> None:
        """Fetch nothing until `resume`, but keep polling, which keeps the membership alive."""
        self._consumer.pause(*self._consumer.assignment())
        with suppress(*UNREADABLE):  # left to the next fetch
            for partition, batch in (await self._poll(1, 0)).items():  # a rebalance has just assigned it, not paused
                self._consumer.seek(partition, batch[0].offset)
        await self._lag.ask()

    def resume(self) -> None:
        self._consumer.resume(*(self._consumer.paused() - self._held.keys()))

    def hold(self, partition: TopicPartition, offset: int, seconds: float) -> None:
        """Fetch nothing of this partition for so long, or until the next rebalance; then again from this offset."""
        if self._rebalanced or partition not in self._consumer.assignment():
            return
        self._consumer.seek(partition, offset)
        self._consumer.pause(partition)
        self._held[partition] = monotonic() + seconds
        _held.labels(partition.topic, partition.partition, self._group.name).set(1)

    async def _watch_held(self) -> None:
        """Resume partitions that were held for long enough; the lag of the others is not known from fetches."""
        for partition in [partition for partition, until in self._held.items() if monotonic() >= until]:
            self._release(partition)
            self._consumer.resume(partition)
        if self._held:
            await self._lag.ask()

    def _release(self, partition: TopicPartition) -> None:
        del self._held[partition]
        with suppress(KeyError):
            _held.remove(partition.topic, partition.partition, self._group.name)

    def _release_all(self) -> None:
        """A rebalance resumes all partitions."""
        for partition in list(self._held):
            self._release(partition)

    async def join(self) -> None:
        """Join the group and wait for an assignment."""
        async with asyncio.timeout(JOIN_SECONDS):
            await self._consumer.start()

    async def _commit_in_generation(self, committed: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        commits = GenerationCommits(self._consumer)
        while True:
            if await commits.has_ended() or self._rebalanced:
                raise CommitFailedError("the group rebalanced before the commit")
            try:
                await commits.commit(committed)
            except EXCLUDED as error:
                raise CommitFailedError("the group rebalanced during the commit") from error
            except KafkaError as error:
                if not error.retriable:
                    raise
                await asyncio.sleep(COMMIT_RETRY_SECONDS)
            else:
                return

    async def _poll(self, most: int, seconds: float) -> dict[TopicPartition, list[ConsumerRecord]]:
        """During a rebalance aiokafka waits for its end, which never comes if the broker goes away: TimeoutError."""
        async with asyncio.timeout(seconds + self._rebalance_seconds):
            polled: dict[TopicPartition, list[ConsumerRecord]] = await self._consumer.getmany(
                timeout_ms=int(seconds * 1000), max_records=most
            )
        return polled

    async def _skip_unreadable(self) -> dict[TopicPartition, list[ConsumerRecord]]:
        async with asyncio.timeout(REQUEST_SECONDS):
            positions = {partition: await self._position(partition) for partition in self._consumer.assignment()}
            return await skip_unreadable(self._consumer, positions)

    async def _position(self, partition: TopicPartition) -> int:
        """Where to resume reading: the committed offset. What was fetched beyond it may be lost in a rebalance, and
        aiokafka's own position may be behind records that were lost with a failed fetch.
        """
        start: int | None = await self._consumer.committed(partition)
        if start is None:
            start = (await self._consumer.beginning_offsets([partition]))[partition]
        return start

    async def _check_for_stall(self) -> None:
        """aiokafka consumers have been seen to stop fetching for good (aio-libs/aiokafka#1154)."""
        partitions = self._consumer.assignment() - self._consumer.paused()
        async with asyncio.timeout(REQUEST_SECONDS):
            ends = await self._consumer.end_offsets(partitions) if partitions else {}
        behind = any(end > self._next.get(partition, end) for partition, end in ends.items())
        if behind and self._behind:
            raise KafkaConnectionError("the broker has records, but none arrive")
        self._behind, self._checked_at = behind, monotonic()

    def on_partitions_revoked(self, revoked: Sequence[TopicPartition]) -> None:
        """Called by aiokafka when a rebalance begins."""
        self._rebalanced = True
        self._release_all()

    def on_partitions_assigned(self, assigned: Sequence[TopicPartition]) -> None:
        """Called by aiokafka when a rebalance ends."""
        self._rebalanced = True
        self._compared.clear()
        for name in self._group.topics:
            self._partition_counts[name].add(len(self._consumer.partitions_for_topic(name) or ()))
        _rebalances.labels(self._group.name).inc()
        log.info("kafka_partitions_assigned", group=self._group.name, count=len(assigned))

    def leave(self) -> None:
        """Show no lag any more: from now on another member, or the next membership, does."""
        self._lag.forget()
        self._release_all()


@asynccontextmanager
async def join_group(group: GroupConfig, *, topic_seconds: float = TOPIC_SECONDS) -> AsyncIterator[GroupMember]:
    """A member of the group inside the block.

    Raises:
        KafkaError: without a broker.
        TimeoutError: without a broker.
    """
    await ensure_topics(group.kafka, group.known_topics)
    consumer = _new_consumer(group)
    member = GroupMember(group, consumer, topic_seconds=topic_seconds)
    consumer.subscribe(group.topics, listener=member)
    try:
        await member.join()
        yield member
    finally:
        member.leave()
        await close_client(consumer.stop(), COMMIT_SECONDS)


def _new_consumer(group: GroupConfig) -> AIOKafkaConsumer:
    milliseconds = int(group.session_seconds * 1000)
    return AIOKafkaConsumer(
        **client_options(group.kafka),
        group_id=group.name,
        group_instance_id=group.instance_id,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=group.fetch_wait_ms,
        consumer_timeout_ms=FETCHER_WAIT_MS,
        max_partition_fetch_bytes=MAX_MESSAGE_BYTES,
        session_timeout_ms=milliseconds,
        heartbeat_interval_ms=min(3_000, milliseconds // 4),
        max_poll_interval_ms=300_000,
        request_timeout_ms=max(10_000, milliseconds + 5_000),
        metadata_max_age_ms=30_000,
    )
