"""Inert twins of the chassis's ports: a clock that stands still, a consumer group without a broker."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from aiokafka import ConsumerRecord, TopicPartition

from services.chassis.events import Event, Headers, encode_headers
from services.chassis.group_member import GroupConfig
from services.chassis.producer import PublishResult, Record


@dataclass
class FakeClock:
    """A clock that moves only when a test moves it."""

    moment: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    seconds: float = 0.0

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)
        self.seconds += seconds


@dataclass
class FakeGroupMember:
    """A member whose records are given beforehand; `on_empty` is called when they have all been fetched.

    `lost` are partitions that others have, `revoked`: they have all. `held`: partition -> the offset to read it from.
    """

    records: list[ConsumerRecord]
    clock: FakeClock
    committed: list[int] = field(default_factory=list)
    fetched: list[int] = field(default_factory=list)
    pauses: int = 0
    revoked: bool = False
    lost: set[int] = field(default_factory=set)
    held: dict[int, int] = field(default_factory=dict)
    on_empty: Callable[[], None] = lambda: None
    on_pause: Callable[[], None] = lambda: None
    # Called as soon as the consumer waits after a pause: its clock has moved on by then.
    end_rest: Callable[[], None] = lambda: None

    @asynccontextmanager
    async def join(self, _: GroupConfig) -> AsyncIterator["FakeGroupMember"]:
        yield self

    async def fetch(self, most: int, seconds: float) -> list[ConsumerRecord]:
        batch, self.records = self.records[:most], self.records[most:]
        self.fetched.append(len(batch))
        if not batch:
            self.on_empty()
        return batch

    async def commit(self, records: Iterable[ConsumerRecord]) -> None:
        self.committed += [record.offset for record in records if self.owns(record)]

    def owns(self, record: ConsumerRecord) -> bool:
        return not self.revoked and record.partition not in self.lost

    async def pause(self) -> None:
        self.pauses += 1
        self.on_pause()
        self.clock.advance(60)
        asyncio.get_running_loop().call_soon(self.end_rest)

    def resume(self) -> None:
        """Nothing to do."""

    def hold(self, partition: TopicPartition, offset: int, seconds: float) -> None:
        self.held[partition.partition] = offset
        self.records = [record for record in self.records if record.partition != partition.partition]


class FakeProducer:
    """Stores published records; `failures` are returned first."""

    def __init__(self, failures: Sequence[Exception] = ()) -> None:
        self.topics: dict[str, int] = {}
        self.published: list[Record] = []
        self._failures = list(failures)

    async def publish_records(self, records: Sequence[Record]) -> list[PublishResult | Exception]:
        if self._failures:
            failure = self._failures.pop(0)
            return [failure for _ in records]
        self.published += records
        return [PublishResult(0, len(self.published)) for _ in records]


def record_of(event: Event, offset: int) -> ConsumerRecord:
    """The event as it comes from partition 0 of its topic."""
    return raw_record(event.topic, offset, value=event.payload, headers=encode_headers(event), key=event.key.encode())


def raw_record(
    topic: str, offset: int, *, value: bytes | None, headers: Headers, key: bytes | None = b"k"
) -> ConsumerRecord:
    """Any record at all."""
    return ConsumerRecord(topic, 0, offset, 0, 0, key, value, None, 0, 0, headers)


@dataclass
class FakeLease:
    """A lease that is acquired as often as `times` says; None: always."""

    times: int | None = None
    asked: int = 0
    released: int = 0

    async def acquire(self) -> bool:
        self.asked += 1
        if self.times is None:
            return True
        self.times -= 1
        return self.times >= 0

    async def release(self) -> None:
        self.released += 1
