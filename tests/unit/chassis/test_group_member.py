"""A member of a group, on a client of Kafka that does what the test wants."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.errors import CommitFailedError, KafkaConnectionError, KafkaError

from services.chassis import metrics
from services.chassis.group_member import GroupConfig, GroupMember
from tests.fakes.chassis import record_of
from tests.unit.chassis.samples import an_event

PLACE = TopicPartition("t", 0)
GROUP = GroupConfig("nowhere:1", "test-group", ("t",), {}, None, 1.0)


@dataclass
class FakeClient:
    """The part of aiokafka's consumer that a member uses."""

    batches: list[list[ConsumerRecord]] = field(default_factory=list)
    end: int = 0
    assigned: set[TopicPartition] = field(default_factory=lambda: {PLACE})
    commits: list[dict[TopicPartition, int]] = field(default_factory=list)
    sought: dict[TopicPartition, int] = field(default_factory=dict)
    hangs: bool = False
    refuses: KafkaError | None = None
    unreadable: bool = False
    _client: object = None

    async def getmany(self, *, timeout_ms: int, max_records: int) -> dict[TopicPartition, list[ConsumerRecord]]:
        if self.hangs:
            await asyncio.Event().wait()
        if self.unreadable:
            raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
        return {PLACE: self.batches.pop(0)} if self.batches else {}

    async def commit(self, offsets: dict[TopicPartition, int]) -> None:
        if self.hangs:
            await asyncio.Event().wait()
        if self.refuses:
            raise self.refuses
        self.commits.append(offsets)

    async def end_offsets(self, places: set[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(places, self.end)

    def highwater(self, _: TopicPartition) -> int:
        return self.end

    def assignment(self) -> set[TopicPartition]:
        return self.assigned

    async def committed(self, place: TopicPartition) -> int | None:
        return self.commits[-1][place] if self.commits else None

    async def beginning_offsets(self, places: list[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(places, 3)

    async def position(self, _: TopicPartition) -> int:
        return 0

    def pause(self, *_: TopicPartition) -> None:
        """Nothing to do."""

    def seek(self, place: TopicPartition, offset: int) -> None:
        self.sought[place] = offset

    def paused(self) -> set[TopicPartition]:
        return set()


Join = Callable[[FakeClient], GroupMember]


@pytest.fixture
async def broker() -> asyncio.Event:
    """Set: the broker has gone."""
    return asyncio.Event()


@pytest.fixture
async def join(broker: asyncio.Event) -> AsyncIterator[Join]:
    async def until_gone() -> None:
        await broker.wait()

    gone = asyncio.create_task(until_gone())
    yield lambda client: GroupMember(GROUP, client, gone, stall_seconds=-1, commit_seconds=0.05)
    gone.cancel()


def records(*offsets: int) -> list[ConsumerRecord]:
    return [record_of(an_event(), offset) for offset in offsets]


async def test_the_end_of_the_broker_ends_a_fetch_that_waits(join: Join, broker: asyncio.Event) -> None:
    fetching = asyncio.create_task(join(FakeClient(hangs=True)).fetch(10, 60))
    await asyncio.sleep(0)
    broker.set()
    with pytest.raises(KafkaConnectionError):
        await fetching


async def test_nothing_is_committed_to_a_broker_that_came_back(join: Join, broker: asyncio.Event) -> None:
    client = FakeClient()
    member = join(client)
    broker.set()
    await asyncio.sleep(0)
    with pytest.raises(KafkaConnectionError):
        await member.commit(records(500))
    assert client.commits == []


async def test_a_commit_that_is_not_answered_ends_the_membership(join: Join) -> None:
    with pytest.raises(KafkaConnectionError):
        await join(FakeClient(hangs=True)).commit(records(1))


async def test_a_commit_that_is_refused_says_so(join: Join) -> None:
    with pytest.raises(CommitFailedError):
        await join(FakeClient(refuses=CommitFailedError())).commit(records(1))


async def test_what_is_committed_is_the_next_offset_of_its_own_partitions(join: Join) -> None:
    client = FakeClient()
    await join(client).commit(records(3, 4))
    client.assigned = set()
    await join(client).commit(records(5))
    assert client.commits == [{PLACE: 5}]


async def test_records_that_are_there_but_never_arrive_end_the_membership(join: Join) -> None:
    client = FakeClient(batches=[records(0)], end=10)
    member = join(client)
    assert len(await member.fetch(10, 0)) == 1
    assert await member.fetch(10, 0) == []
    with pytest.raises(KafkaConnectionError, match="none arrive"):
        await member.fetch(10, 0)


async def test_silence_at_the_end_of_the_log_is_no_stall(join: Join) -> None:
    member = join(FakeClient(batches=[records(0)], end=1))
    for _ in range(5):
        await member.fetch(10, 0)


async def test_what_a_rebalance_brings_during_a_pause_comes_later(join: Join) -> None:
    client = FakeClient(batches=[records(4)])
    await join(client).pause()
    assert client.sought == {PLACE: 4}


async def test_a_pause_leaves_to_the_next_fetch_what_cannot_be_read(join: Join) -> None:
    await join(FakeClient(unreadable=True)).pause()


@pytest.mark.parametrize(("commits", "start"), [([], 3), ([{PLACE: 5}], 5)])
async def test_what_cannot_be_read_is_looked_for_behind_what_is_committed(
    join: Join, commits: list[dict[TopicPartition, int]], start: int
) -> None:
    """Not behind what was fetched: that may have gone to another member and have come back since."""
    nobody = SimpleNamespace(cluster=SimpleNamespace(leader_for_partition=lambda _: None))
    client = FakeClient(batches=[records(5, 6, 7)], end=9, commits=commits, _client=nobody)
    member = join(client)
    await member.fetch(10, 0)
    client.unreadable = True
    assert await member.fetch(10, 0) == []
    assert client.sought == {PLACE: start}


async def test_the_lag_falls_with_what_is_committed_not_with_what_is_fetched(join: Join) -> None:
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
