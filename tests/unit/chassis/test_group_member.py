"""A group member on a fake Kafka client."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import time
from types import SimpleNamespace
from uuid import UUID

import pytest
from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.errors import (
    CommitFailedError,
    IllegalGenerationError,
    KafkaConnectionError,
    KafkaError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from aiokafka.structs import OffsetAndMetadata

from services.chassis import metrics
from services.chassis.group_member import GroupConfig, GroupMember
from services.chassis.topic_ids import ReadTopics
from tests.eventually import eventually
from tests.fakes.chassis import record_of
from tests.unit.chassis.samples import an_event

NONE, OLD, NEW = (UUID(int=number) for number in range(3))
PARTITION = TopicPartition("t", 0)
GROUP = GroupConfig("nowhere:1", "test-group", ("t",), {}, None, 1.0)


@dataclass
class FakeClient:
    """The part of aiokafka's consumer that a member uses."""

    batches: list[list[ConsumerRecord]] = field(default_factory=list)
    end: int = 0
    assigned: set[TopicPartition] = field(default_factory=lambda: {PARTITION})
    commits: list[dict[TopicPartition, int]] = field(default_factory=list)
    sought: dict[TopicPartition, int] = field(default_factory=dict)
    stopped: set[TopicPartition] = field(default_factory=set)
    hangs: bool = False
    refusals: list[KafkaError] = field(default_factory=list)
    unreadable: bool = False
    generation: int = 0
    answered: float | None = None
    topic_id: UUID = NONE
    metadata: str = ""
    away: bool = False
    partitions: int = 4
    cluster: object = None
    _fetcher: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(_fetch_max_wait_ms=100))

    @property
    def _client(self) -> "FakeClient":
        return self

    @property
    def _coordinator(self) -> "FakeClient":
        return self

    def get_random_node(self) -> int:
        return 0

    async def send(self, _: int, __: object) -> SimpleNamespace:
        """What the broker says of its topics."""
        if self.away:
            raise KafkaConnectionError
        return SimpleNamespace(topics=[(0, "t", self.topic_id, False, [{}] * self.partitions, 0, {})])

    async def fetch_committed_offsets(self, places: list[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
        return {place: OffsetAndMetadata(self.commits[-1][place], self.metadata) for place in places if self.commits}

    @property
    def _subscription(self) -> SimpleNamespace:
        return SimpleNamespace(subscription=SimpleNamespace(assignment=None))

    async def ensure_coordinator_known(self) -> None:
        if self.hangs:
            await asyncio.Event().wait()

    async def getmany(self, *, timeout_ms: int, max_records: int) -> dict[TopicPartition, list[ConsumerRecord]]:
        if self.hangs:
            await asyncio.Event().wait()
        if self.unreadable:
            raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
        return {PARTITION: self.batches.pop(0)} if self.batches else {}

    async def _do_commit_offsets(self, _: object, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
        if self.refusals:
            raise self.refusals.pop(0)
        self.commits.append({partition: committed.offset for partition, committed in offsets.items()})
        self.metadata = next(iter(offsets.values())).metadata

    async def end_offsets(self, places: set[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(places, self.end)

    def highwater(self, _: TopicPartition) -> int:
        return self.end

    def last_poll_timestamp(self, _: TopicPartition) -> float | None:
        return self.answered

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return set(range(self.partitions)) if topic == "t" else None

    def assignment(self) -> set[TopicPartition]:
        return self.assigned

    async def committed(self, place: TopicPartition) -> int | None:
        return self.commits[-1][place] if self.commits else None

    async def beginning_offsets(self, places: list[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(places, 3)

    async def position(self, _: TopicPartition) -> int:
        return 0

    def pause(self, *partitions: TopicPartition) -> None:
        self.stopped |= set(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        self.stopped -= set(partitions)

    def seek(self, place: TopicPartition, offset: int) -> None:
        self.sought[place] = offset

    def paused(self) -> set[TopicPartition]:
        return set(self.stopped)


Join = Callable[[FakeClient], GroupMember]


@pytest.fixture
def join() -> Join:
    waits = {"stall_seconds": -1, "commit_seconds": 0.5, "rebalance_seconds": 0.05, "topic_seconds": -1}
    return lambda client: GroupMember(replace(GROUP, read_topics=ReadTopics()), client, **waits)


def records(*offsets: int) -> list[ConsumerRecord]:
    return [record_of(an_event(), offset) for offset in offsets]


async def test_a_commit_that_is_not_answered_times_out(join: Join) -> None:
    with pytest.raises(TimeoutError):
        await join(FakeClient(hangs=True)).commit(records(1))


async def test_a_failed_commit_is_repeated(join: Join) -> None:
    client = FakeClient(refusals=[KafkaConnectionError()])
    await join(client).commit(records(1))
    assert client.commits == [{PARTITION: 2}]


async def test_a_commit_is_not_repeated_after_a_rebalance(join: Join) -> None:
    client = FakeClient(refusals=[KafkaConnectionError()])
    member = join(client)
    committing = asyncio.create_task(member.commit(records(1)))
    await eventually(lambda: not client.refusals)
    member.on_partitions_revoked([PARTITION])
    with pytest.raises(CommitFailedError):
        await committing
    assert client.commits == []


async def test_a_member_without_a_generation_does_not_commit(join: Join) -> None:
    """The broker has excluded it, and would take its commit for one of an empty group."""
    client = FakeClient(generation=-1)
    with pytest.raises(CommitFailedError):
        await join(client).commit(records(1))
    assert client.commits == []


async def test_records_fetched_before_a_rebalance_are_not_committed_after_it(join: Join) -> None:
    client = FakeClient(batches=[records(3), records(3)])
    member = join(client)
    fetched = await member.fetch(10, 0)
    assert member.owns(fetched[0])
    member.on_partitions_revoked([PARTITION])
    member.on_partitions_assigned([PARTITION])
    assert not member.owns(fetched[0])
    await member.commit(fetched)
    assert client.commits == []
    await member.commit(await member.fetch(10, 0))
    assert client.commits == [{PARTITION: 4}]


@pytest.mark.parametrize("refusal", [UnknownMemberIdError, IllegalGenerationError, RebalanceInProgressError])
async def test_a_refused_commit_raises(join: Join, refusal: type[KafkaError]) -> None:
    with pytest.raises(CommitFailedError):
        await join(FakeClient(refusals=[refusal()])).commit(records(1))


async def test_the_next_offset_of_assigned_partitions_is_committed(join: Join) -> None:
    client = FakeClient()
    await join(client).commit(records(3, 4))
    client.assigned = set()
    await join(client).commit(records(5))
    assert client.commits == [{PARTITION: 5}]


async def test_a_topic_that_was_created_again_is_read_from_the_beginning(join: Join) -> None:
    """The member commits the beginning, in the new topic, and ends: the next one begins there."""
    client = FakeClient(batches=[records(4), records(5)], topic_id=OLD)
    member = join(client)
    await member.commit(await member.fetch(10, 0))
    client.topic_id = NEW
    with pytest.raises(KafkaConnectionError, match="not the topics that were read"):
        await member.fetch(10, 0)
    assert (client.commits, client.metadata) == ([{PARTITION: 5}, {PARTITION: 0}], f"topic-id:{NEW}")
    client.batches = [records(0)]
    assert len(await join(client).fetch(10, 0)) == 1


async def test_offsets_that_were_committed_in_a_lost_topic_are_not_continued(join: Join) -> None:
    """The consumer was stopped while its topic was created again, or committed in the new one before it noticed."""
    client = FakeClient(batches=[records(5)], topic_id=NEW, commits=[{PARTITION: 5}], metadata=f"topic-id:{OLD}")
    with pytest.raises(KafkaConnectionError):
        await join(client).fetch(10, 0)
    assert (client.commits[-1], client.metadata) == ({PARTITION: 0}, f"topic-id:{NEW}")


async def test_a_lost_topic_is_found_again_when_its_beginning_was_not_committed(join: Join) -> None:
    """By the next member of the same consumer, even if the broker keeps nothing with an offset, as Tansu."""
    client = FakeClient(topic_id=OLD)
    group = replace(GROUP, read_topics=ReadTopics())
    await GroupMember(group, client, topic_seconds=-1).fetch(10, 0)  # type: ignore[arg-type]
    client.topic_id, client.refusals = NEW, [UnknownMemberIdError()]
    for commits in ([], [{PARTITION: 0}]):
        with pytest.raises(KafkaConnectionError):
            await GroupMember(group, client, topic_seconds=-1).fetch(10, 0)  # type: ignore[arg-type]
        assert client.commits == commits
    await GroupMember(group, client, topic_seconds=-1).fetch(10, 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("counts", [(4, 5), (5, 4, 5), (0, 4)])
async def test_a_membership_ends_when_a_topic_has_other_partitions_than_at_a_rebalance(
    join: Join, counts: tuple[int, ...]
) -> None:
    """A later rebalance may not have assigned them: Tansu gives a member that rejoins what it had."""
    client = FakeClient(assigned=set())
    member = join(client)
    for count in counts:
        client.partitions = count
        member.on_partitions_assigned([])
    with pytest.raises(KafkaConnectionError, match="other partitions"):
        await member.fetch(10, 0)


@pytest.mark.parametrize("metadata", ["", "of another tool"])
async def test_offsets_without_a_topic_id_are_continued(join: Join, metadata: str) -> None:
    """Those of earlier versions and of operators."""
    client = FakeClient(batches=[records(5)], topic_id=NEW, commits=[{PARTITION: 5}], metadata=metadata)
    assert len(await join(client).fetch(10, 0)) == 1


async def test_an_unavailable_broker_ends_a_membership_only_if_commits_fail(join: Join) -> None:
    client = FakeClient(away=True)
    member = join(client)
    assert await member.fetch(10, 0) == []
    client.batches = [records(5)]
    with pytest.raises(KafkaConnectionError):
        await member.fetch(10, 0)


async def test_a_stalled_fetch_ends_the_membership(join: Join) -> None:
    client = FakeClient(batches=[records(0)], end=10)
    member = join(client)
    assert len(await member.fetch(10, 0)) == 1
    assert await member.fetch(10, 0) == []
    with pytest.raises(KafkaConnectionError, match="none arrive"):
        await member.fetch(10, 0)


async def test_a_rebalance_that_does_not_end_ends_the_membership(join: Join) -> None:
    """As when the broker goes away during it. A poll that waited on would fail the liveness check."""
    member = join(FakeClient(hangs=True))
    with pytest.raises(TimeoutError):
        await member.fetch(10, 0)
    with pytest.raises(TimeoutError):
        await member.pause()


async def test_silence_at_the_end_of_the_log_is_not_a_stall(join: Join) -> None:
    member = join(FakeClient(batches=[records(0)], end=1))
    for _ in range(5):
        await member.fetch(10, 0)


async def test_records_of_partitions_assigned_during_a_pause_are_fetched_later(join: Join) -> None:
    client = FakeClient(batches=[records(4)])
    await join(client).pause()
    assert client.sought == {PARTITION: 4}


async def test_a_held_partition_is_read_again_from_its_offset_after_the_time(join: Join) -> None:
    client = FakeClient()
    member = join(client)
    member.hold(PARTITION, 7, 60.0)
    await member.fetch(1, 0)
    await member.pause()
    member.resume()
    assert (client.stopped, client.sought, held()) == ({PARTITION}, {PARTITION: 7}, 1)
    member.hold(PARTITION, 7, 0.0)
    await member.fetch(1, 0)
    assert (client.stopped, held()) == (set(), None)


@pytest.mark.parametrize("end", [GroupMember.leave, lambda member: member.on_partitions_revoked([PARTITION])])
async def test_a_member_without_the_partition_does_not_show_it_as_held(
    join: Join, end: Callable[[GroupMember], None]
) -> None:
    member = join(FakeClient())
    member.hold(PARTITION, 7, 60.0)
    end(member)
    assert held() is None


def held() -> float | None:
    labels = {"topic": "t", "partition": "0", "group": GROUP.name}
    return metrics.REGISTRY.get_sample_value("mobiletest_kafka_partition_held", labels)


async def test_a_pause_leaves_unreadable_records_to_the_next_fetch(join: Join) -> None:
    await join(FakeClient(unreadable=True)).pause()


@pytest.mark.parametrize(("commits", "start"), [([], 3), ([{PARTITION: 5}], 5)])
async def test_unreadable_records_are_skipped_from_the_committed_offset(
    join: Join, commits: list[dict[TopicPartition, int]], start: int
) -> None:
    """Not from the fetched offset: the partition may have been elsewhere in the meantime."""
    cluster = SimpleNamespace(leader_for_partition=lambda _: None)
    client = FakeClient(batches=[records(5, 6, 7)], end=9, commits=commits, cluster=cluster)
    member = join(client)
    await member.fetch(10, 0)
    client.unreadable = True
    assert await member.fetch(10, 0) == []
    assert client.sought == {PARTITION: start}


async def test_the_lag_falls_with_commits_not_with_fetches(join: Join) -> None:
    member = join(FakeClient(batches=[records(0, 1)], end=9))
    fetched = await member.fetch(10, 0)
    assert lag() == 9
    await member.commit(fetched)
    assert lag() == 7
    member.leave()
    assert lag() is None


def lag() -> float | None:
    labels = {"group": "test-group", "partition": "0", "topic": "t"}
    return metrics.REGISTRY.get_sample_value("mobiletest_kafka_consumer_lag_records", labels)


async def test_a_member_is_current_while_the_broker_answers_for_every_partition() -> None:
    client = FakeClient()
    member = GroupMember(GROUP, client)  # type: ignore[arg-type]
    assert not member.is_current(5)
    client.answered = time() * 1000
    assert member.is_current(5)
    client.answered -= 6000
    assert not member.is_current(5)
    client.assigned = set()
    assert not member.is_current(5)


async def test_keys_belong_to_the_member_that_has_their_partition(join: Join) -> None:
    members = [join(FakeClient(assigned={TopicPartition("t", partition)})) for partition in range(4)]
    for key in map(str, range(20)):
        assert sum(member.owns_key("t", key) for member in members) == 1
        assert not any(member.owns_key("unknown", key) for member in members)


@pytest.mark.parametrize(("quiet_seconds", "expected"), [(-1.0, 400), (60.0, 100)])
async def test_fetches_wait_longer_when_no_records_come(quiet_seconds: float, expected: int) -> None:
    client = FakeClient()
    group = replace(GROUP, fetch_wait_ms=100, quiet_fetch_wait_ms=400)
    await GroupMember(group, client, quiet_seconds=quiet_seconds).fetch(1, 0)  # type: ignore[arg-type]
    assert client._fetcher._fetch_max_wait_ms == expected


async def test_a_record_shortens_the_wait_of_the_next_fetch() -> None:
    client = FakeClient(batches=[records(0)], _fetcher=SimpleNamespace(_fetch_max_wait_ms=400))
    group = replace(GROUP, fetch_wait_ms=100, quiet_fetch_wait_ms=400)
    await GroupMember(group, client).fetch(1, 0)  # type: ignore[arg-type]
    assert client._fetcher._fetch_max_wait_ms == 100
