"""Reading around what aiokafka cannot read, on a partition whose batches the test makes."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.record.default_records import _DefaultRecordBatchBuilderPy
from hypothesis import given
from hypothesis import strategies as st

from services.chassis.unreadable_records import UnreadableRecords, skip_unreadable

PLACE = TopicPartition("t", 0)
GOOD, NO_TEXT = "good", "no text"

# Its records, GOOD or NO_TEXT, and whether its checksum is wrong.
Batch = tuple[Sequence[str], bool]


class NoText(str):
    def encode(self, *_: object) -> bytes:
        return b"\xff\xfe"


def encoded(base: int, batch: Batch) -> bytes:
    kinds, corrupt = batch
    builder = _DefaultRecordBatchBuilderPy(2, 0, 0, -1, -1, -1, 1 << 20)
    for offset, kind in enumerate(kinds):
        name: str = "name" if kind == GOOD else NoText("x")
        builder.append(offset, 0, b"k", f"{base + offset}".encode(), [(name, b"v")])
    built = bytearray(builder.build())
    built[:8] = base.to_bytes(8, "big")
    if corrupt:
        built[-1] ^= 0xFF
    return bytes(built)


@dataclass
class FakeConsumer:
    """Gives what lies from the batch on that holds the offset, but for the last bytes: a fetch ends anywhere."""

    batches: Sequence[Batch]
    assigned: set[TopicPartition] = field(default_factory=lambda: {PLACE})
    sought: int = 0
    answers: bool = True

    @property
    def _client(self) -> Any:
        return SimpleNamespace(
            cluster=SimpleNamespace(leader_for_partition=lambda _: 1), send=lambda _, request: self.send(request)
        )

    def assignment(self) -> set[TopicPartition]:
        return self.assigned

    def highwater(self, place: TopicPartition) -> int:
        return self.end

    def seek(self, _: TopicPartition, offset: int) -> None:
        self.sought = offset

    @property
    def end(self) -> int:
        return sum(len(kinds) for kinds, _ in self.batches)

    async def send(self, request: Any) -> Any:
        [(_, [(_, position, _)])] = request._topics
        base, data = 0, b""
        for batch in self.batches:
            if base + len(batch[0]) > position:
                data += encoded(base, batch)
            base += len(batch[0])
        answer = data[:-3] if self.answers else b""
        return SimpleNamespace(topics=[("t", [(0, 0, self.end, -1, [], answer)])])


def readable(batches: Sequence[Batch]) -> set[int]:
    """Offsets before the first fault of each batch."""
    offsets: set[int] = set()
    base = 0
    for kinds, corrupt in batches:
        whole = [] if corrupt else list(kinds)
        until = whole.index(NO_TEXT) if NO_TEXT in whole else len(whole)
        offsets |= set(range(base, base + until))
        base += len(kinds)
    return offsets


BATCHES = st.lists(
    st.tuples(st.lists(st.sampled_from([GOOD, GOOD, NO_TEXT]), min_size=1, max_size=6), st.booleans()),
    min_size=1,
    max_size=8,
)


@given(BATCHES)
def test_readable_records_are_kept_and_unreadable_ones_reported(batches: list[Batch]) -> None:
    """To the end, each time from where the consumer was left. A last batch that is cut off is not taken for a fault."""
    consumer = FakeConsumer([*batches, ([GOOD], False)])
    read: list[int] = []
    named: list[int] = []
    while gaps := asyncio.run(skip_unreadable(consumer, {PLACE: consumer.sought})):
        *before, gap = gaps[PLACE]
        read += [record.offset for record in before]
        named += range(gap.first, gap.offset + 1)
        assert consumer.sought == gap.offset + 1
    last = range(consumer.sought, consumer.end)  # aiokafka reads on by itself
    assert sorted([*read, *named, *last]) == list(range(consumer.end))
    assert set(named) == set(range(consumer.end)) - readable(consumer.batches)


async def test_records_before_a_fault_are_unchanged() -> None:
    consumer = FakeConsumer([([GOOD, NO_TEXT, GOOD], False), ([GOOD], False)])
    record, gap = (await skip_unreadable(consumer, {PLACE: 0}))[PLACE]
    assert record == ConsumerRecord("t", 0, 0, 0, 0, b"k", b"0", record.checksum, 1, 1, (("name", b"v"),))
    assert isinstance(gap, UnreadableRecords)
    assert (gap.first, gap.offset, gap.value) == (1, 2, None)


async def test_an_empty_response_skips_nothing() -> None:
    consumer = FakeConsumer([([NO_TEXT], False)], answers=False)
    assert await skip_unreadable(consumer, {PLACE: 0}) == {}
    assert consumer.sought == 0


@pytest.mark.parametrize("topics", [[], [("t", [])], [("t", [(0, 6, -1, -1, [], None)])]])
async def test_an_error_of_the_broker_is_retried_by_the_next_fetch(topics: list[Any]) -> None:
    """Such as one that leads the partition no more."""
    consumer = FakeConsumer([([NO_TEXT], False)])

    async def send(request: Any) -> Any:
        return SimpleNamespace(topics=topics)

    consumer.send = send  # type: ignore[method-assign]
    assert await skip_unreadable(consumer, {PLACE: 0}) == {}


@pytest.mark.parametrize("when", ["before", "meanwhile"])
async def test_a_reassigned_partition_is_left_alone(when: str) -> None:
    consumer = FakeConsumer([([NO_TEXT], False), ([GOOD], False)])
    given = consumer.send

    async def send(request: Any) -> Any:
        consumer.assigned.clear()
        return await given(request)

    if when == "before":
        consumer.assigned.clear()
    consumer.send = send  # type: ignore[method-assign]
    assert await skip_unreadable(consumer, {PLACE: 0}) == {}


async def test_a_corrupt_end_offset_skips_one_record_only() -> None:
    consumer = FakeConsumer([([GOOD, GOOD], True), ([GOOD], False)])
    honest = consumer.send

    async def send(request: Any) -> Any:
        response = await honest(request)
        [(topic, [(*rest, data)])] = response.topics
        lying = bytearray(data)
        lying[23:27] = (1 << 30).to_bytes(4, "big")  # the last offset of the batch, as it says
        return SimpleNamespace(topics=[(topic, [(*rest, bytes(lying))])])

    consumer.send = send  # type: ignore[method-assign]
    (gap,) = (await skip_unreadable(consumer, {PLACE: 0}))[PLACE]
    assert (gap.first, gap.offset, consumer.sought) == (0, 0, 1)
