"""The loop of the consumer, on a group without a broker."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest
from aiokafka import ConsumerRecord
from pymongo.errors import AutoReconnect

from services.chassis import metrics
from services.chassis.consumer import MAX_POLL_AGE_SECONDS, POLL_SECONDS, Consumer, Handler
from services.chassis.dead_letters.limit import DlqLimit
from services.chassis.errors import Aborted, NotFound, Unavailable
from services.chassis.events import Event, InvalidMessage, TransientError
from services.chassis.group_member import COMMIT_SECONDS, JOIN_SECONDS, GroupConfig
from services.chassis.producer import PublishResult, Record
from services.chassis.retry import backoff_seconds
from tests.eventually import eventually
from tests.fakes.chassis import FakeClock, FakeGroupMember, FakeProducer, raw_record, record_of
from tests.unit.chassis.samples import an_event


@dataclass
class Bench:
    """A consumer over given records, with a handler that raises what `failures` says before it takes a batch."""

    records: list[ConsumerRecord]
    failures: list[Exception] = field(default_factory=list)
    bad: set[str] = field(default_factory=set)
    producer: FakeProducer = field(default_factory=FakeProducer)
    capacity: Callable[[], int] | None = None
    handler: Handler | None = None
    dlq_limit: DlqLimit | None = None
    batches: list[list[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clock = FakeClock()
        self.member = FakeGroupMember(list(self.records), self.clock)
        self.consumer = self.made()

    def made(self) -> Consumer:
        consumer = Consumer(
            ["t"],
            "g",
            self.handler or self.handle,
            kafka="nowhere:1",
            instance_id=None,
            dlq=self.producer,  # type: ignore[arg-type]
            capacity=self.capacity,
            dlq_limit=self.dlq_limit,
            clock=self.clock,
            join=self.member.join,  # type: ignore[arg-type]
        )
        self.member.on_empty = consumer.stop
        return consumer

    async def handle(self, events: list[Event]) -> None:
        if self.failures:
            raise self.failures.pop(0)
        if any(event.id in self.bad for event in events):
            raise InvalidMessage("REFUSED", "no such thing")
        self.batches.append([event.id for event in events])


def records(*ids: str) -> list[ConsumerRecord]:
    return [record_of(an_event(id_=id_), offset) for offset, id_ in enumerate(ids)]


async def test_a_batch_is_handled_in_order_and_then_committed() -> None:
    bench = Bench(records("a", "b", "c"))
    await bench.consumer.run()
    assert bench.batches == [["a", "b", "c"]]
    assert bench.member.committed == [0, 1, 2]


@pytest.mark.parametrize(
    "failure", [TransientError("later"), Unavailable("down"), Aborted("lost a race"), AutoReconnect("mongod went away")]
)
async def test_transient_errors_are_retried_with_paused_partitions(failure: Exception) -> None:
    bench = Bench(records("a"), failures=[failure, failure])
    await bench.consumer.run()
    assert bench.batches == [["a"]]
    assert bench.member.pauses >= 2
    assert bench.member.committed == [0]


async def test_the_consumer_polls_while_it_waits() -> None:
    bench = Bench(records("a"), failures=[TransientError("later")] * 5)
    await bench.consumer.run()
    assert bench.consumer.poll_age() <= MAX_POLL_AGE_SECONDS


@pytest.mark.parametrize("failure", [ValueError("a bug"), NotFound("x"), OSError("disk"), TimeoutError()])
async def test_any_other_error_ends_the_consumer_without_a_commit(failure: Exception) -> None:
    bench = Bench(records("a"), failures=[failure])
    with pytest.raises(type(failure)):
        await bench.consumer.run()
    assert bench.member.committed == []


async def test_an_undecodable_record_is_dead_lettered_and_the_others_handled() -> None:
    bench = Bench([raw_record("t", 0, value=b"\xff", headers=[("ce_id", b"x")]), *records("a")])
    await bench.consumer.run()
    assert bench.batches == [["a"]]
    (letter,) = bench.producer.published
    headers = dict(letter.headers)
    assert letter.topic == "t.dlq"
    assert (letter.value, headers["dlq_reason"]) == (b"\xff", b"MISSING_HEADER")
    assert (headers["dlq_topic"], headers["dlq_partition"], headers["dlq_offset"]) == (b"t", b"0", b"0")
    assert bench.member.committed == [0, 0]


async def test_only_the_event_that_the_handler_names_is_dead_lettered() -> None:
    named: list[str] = []

    async def handle(events: list[Event]) -> None:
        for event in events:
            if event.id == "bad":
                raise InvalidMessage("REFUSED", event=event)
        named.extend(event.id for event in events)

    bench = Bench(records("a", "bad", "b"), handler=handle)
    await bench.consumer.run()
    assert named == ["a", "b"]
    assert [dict(letter.headers)["ce_id"] for letter in bench.producer.published] == [b"bad"]
    assert bench.member.committed == [0, 1, 2]


async def test_several_refused_events_take_one_call() -> None:
    calls: list[int] = []

    async def handle(events: list[Event]) -> list[InvalidMessage]:
        calls.append(len(events))
        return [InvalidMessage("REFUSED", event=event) for event in events if event.id != "fine"]

    bench = Bench(records(*(f"bad{n}" for n in range(998)), "fine", "bad"), handler=handle)
    await bench.consumer.run()
    assert calls == [1000]
    assert len(bench.producer.published) == 999
    assert bench.member.committed == list(range(1000))


async def test_an_event_with_the_same_id_is_not_dead_lettered() -> None:
    async def handle(events: list[Event]) -> list[InvalidMessage]:
        return [InvalidMessage("REFUSED", event=event) for event in events if event.payload == b"bad"]

    twins = [record_of(replace(an_event(id_="twin"), payload=payload), n) for n, payload in enumerate((b"bad", b"ok"))]
    bench = Bench(twins, handler=handle)
    await bench.consumer.run()
    assert [letter.value for letter in bench.producer.published] == [b"bad"]


async def test_refusing_an_event_of_another_batch_ends_the_consumer() -> None:
    async def handle(events: list[Event]) -> list[InvalidMessage]:
        return [InvalidMessage("REFUSED", event=an_event(id_="another"))]

    bench = Bench(records("a"), handler=handle)
    with pytest.raises(ValueError, match="not in its batch"):
        await bench.consumer.run()
    assert bench.member.committed == []


async def test_a_record_without_key_and_value_is_dead_lettered() -> None:
    bench = Bench([raw_record("t", 0, key=None, value=None, headers=[("ce_id", None)])])
    await bench.consumer.run()
    (letter,) = bench.producer.published
    assert (letter.key, letter.value, letter.headers[0]) == (None, b"", ("ce_id", None))


async def test_a_partition_over_the_dlq_limit_is_held_before_any_dead_letter() -> None:
    bench = Bench(records(*(f"{n}" for n in range(10))), bad={f"{n}" for n in range(3, 10)}, dlq_limit=DlqLimit(0.5, 6))
    await bench.consumer.run()
    assert bench.member.held == {0: 0}
    assert bench.producer.published == []
    assert bench.member.committed == []


async def test_the_other_partitions_go_on_while_one_is_held() -> None:
    poison = [raw_record("t", n, value=b"", headers=[]) for n in range(10)]
    others = [replace(record, partition=1) for record in records(*(f"{n}" for n in range(20)))]
    bench = Bench([*poison, *others[:10], *others[10:]], dlq_limit=DlqLimit(0.5, 6), capacity=lambda: 20)
    await bench.consumer.run()
    assert bench.member.held == {0: 0}
    assert bench.member.committed == list(range(20))
    assert [id_ for batch in bench.batches for id_ in batch] == [str(n) for n in range(20)]
    assert bench.producer.published == []


async def test_a_held_partition_goes_on_when_its_messages_become_valid() -> None:
    bench = Bench(records(*(f"{n}" for n in range(10))), bad={f"{n}" for n in range(10)}, dlq_limit=DlqLimit(0.5, 6))
    await bench.consumer.run()
    bench.bad.clear()
    bench.member.records = bench.records[bench.member.held[0] :]
    await bench.made().run()
    assert bench.member.committed == list(range(10))
    assert bench.producer.published == []


async def test_batches_before_the_dlq_limit_stay_committed() -> None:
    bench = Bench(records(*(f"{n}" for n in range(10))), bad={f"{n}" for n in range(3, 10)}, dlq_limit=DlqLimit(0.5, 6))
    bench.capacity = lambda: 1
    await bench.made().run()
    assert len(bench.producer.published) == 3
    assert bench.member.committed == [0, 1, 2, 3, 4, 5]
    assert bench.member.held == {0: 6}


async def test_an_invalid_event_that_the_handler_does_not_name_is_found() -> None:
    bench = Bench(records("a", "bad", "b"), bad={"bad"})
    await bench.consumer.run()
    assert [id_ for batch in bench.batches for id_ in batch] == ["a", "b"]
    assert len(bench.producer.published) == 1


async def test_nothing_is_committed_before_the_dead_letter_is_written() -> None:
    producer = FakeProducer(failures=[TimeoutError("no broker"), TimeoutError("no broker")])
    bench = Bench(records("bad"), bad={"bad"}, producer=producer)
    await bench.consumer.run()
    assert len(producer.published) == 1
    assert bench.member.committed == [0]


async def test_stop_does_not_wait_for_dead_letters_that_cannot_be_written() -> None:
    bench = Bench(records("bad"), bad={"bad"}, producer=FakeProducer(failures=[TimeoutError("no broker")] * 100))
    bench.member.on_pause = bench.consumer.stop
    await bench.consumer.run()
    assert bench.producer.published == []
    assert bench.member.committed == []


async def test_records_lost_in_a_rebalance_are_dropped() -> None:
    bench = Bench(records("a"), failures=[TransientError("later")])
    bench.member.revoked = True
    await bench.consumer.run()
    assert bench.batches == []
    assert bench.member.committed == []


async def test_records_that_were_lost_for_a_while_are_not_committed() -> None:
    bench = Bench(
        [records("a")[0], replace(records("b")[0], partition=1, offset=7)], failures=[TransientError("later")]
    )
    bench.member.on_pause = lambda: bench.member.lost.add(1)

    async def handle(events: list[Event]) -> None:
        await bench.handle(events)
        bench.member.lost.clear()

    bench.handler = handle
    await bench.made().run()
    assert bench.batches == [["a"]]
    assert bench.member.committed == [0]


async def test_dead_letters_lost_in_a_rebalance_are_not_committed() -> None:
    """What could not be put away here is dropped with its partition; the other one comes to it again."""
    producer = FakeProducer(failures=[TimeoutError("no broker")])
    here = records("bad")[0]
    bench = Bench([here, replace(here, partition=1, offset=7)], bad={"bad"}, producer=producer)
    bench.member.on_pause = lambda: bench.member.lost.add(1)
    write = producer.publish_records

    async def publish_records(letters: Sequence[Record]) -> list[PublishResult | Exception]:
        bench.member.lost.clear() if not producer._failures else None
        return await write(letters)

    producer.publish_records = publish_records  # type: ignore[method-assign,assignment]
    await bench.made().run()
    assert len(producer.published) == 1
    assert bench.member.committed == [0]


async def test_a_commit_without_an_answer_is_counted_and_the_group_is_joined_again() -> None:
    bench = Bench(records("a"))
    member = SilentGroupMember(list(bench.records), bench.clock)
    bench.member = member
    before = failed_commits()
    await bench.made().run()
    assert failed_commits() == before + 1
    assert member.joins == 2


class SilentGroupMember(FakeGroupMember):
    """Its commits time out."""

    joins = 0

    @asynccontextmanager
    async def join(self, group: GroupConfig) -> AsyncIterator[FakeGroupMember]:
        self.joins += 1
        async with super().join(group) as member:
            yield member

    async def commit(self, _: Iterable[ConsumerRecord]) -> None:
        raise TimeoutError


def failed_commits() -> float:
    return metrics.REGISTRY.get_sample_value("mobiletest_kafka_commit_failures_total", {"group": "g"}) or 0.0


async def test_capacity_limits_the_batch() -> None:
    bench = Bench(records("a", "b", "c"), capacity=lambda: 2)
    await bench.consumer.run()
    assert bench.batches == [["a", "b"], ["c"]]


async def test_without_capacity_nothing_is_fetched() -> None:
    rooms = [0, 0, 5, 5]
    bench = Bench(records("a"), capacity=lambda: rooms.pop(0))
    bench.consumer.wake()
    await bench.consumer.run()
    assert bench.member.pauses == 2
    assert bench.batches == [["a"]]


async def test_a_stopped_consumer_does_not_commit_unhandled_records() -> None:
    bench = Bench(records("a"), failures=[TransientError("later")])
    bench.member.on_pause = bench.consumer.stop
    await bench.consumer.run()
    assert bench.batches == []
    assert bench.member.committed == []


async def test_liveness_fails_when_the_loop_is_stuck() -> None:
    bench = Bench([])
    await bench.consumer.check()
    bench.clock.advance(MAX_POLL_AGE_SECONDS + 1)
    with pytest.raises(RuntimeError, match="has not polled for 91 s"):
        await bench.consumer.check()


def test_liveness_survives_failed_joins() -> None:
    assert JOIN_SECONDS + COMMIT_SECONDS + backoff_seconds(50, most=2.0) < MAX_POLL_AGE_SECONDS
    assert POLL_SECONDS + JOIN_SECONDS + COMMIT_SECONDS < MAX_POLL_AGE_SECONDS


class WaitingGroupMember(FakeGroupMember):
    """Its fetch waits for records that never arrive."""

    waiting = False
    ended = False

    async def fetch(self, most: int, seconds: float) -> list[ConsumerRecord]:
        self.waiting = True
        try:
            await asyncio.Event().wait()
        finally:
            self.ended = True
        return []


async def test_a_stop_does_not_wait_for_the_poll() -> None:
    bench = Bench([])
    member = WaitingGroupMember([], bench.clock)
    bench.member = member
    consumer = bench.made()
    running = asyncio.create_task(consumer.run())
    await eventually(lambda: member.waiting)
    consumer.stop()
    async with asyncio.timeout(5):
        await running
    assert member.ended
