"""The loop of the consumer, on a group without a broker."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from aiokafka import ConsumerRecord

from services.chassis import metrics
from services.chassis.consumer import MAX_POLL_AGE_SECONDS, POLL_SECONDS
from services.chassis.errors import NotFound, Unavailable
from services.chassis.events import Event, TransientError
from services.chassis.group_member import COMMIT_SECONDS, JOIN_SECONDS, GroupConfig
from services.chassis.retry import backoff_seconds
from tests.eventually import eventually
from tests.fakes.chassis import FakeGroupMember
from tests.unit.chassis.consumers import Bench, records


async def test_transient_errors_are_retried_with_paused_partitions() -> None:
    bench = Bench(records("a"), failures=[TransientError("later"), Unavailable("down")])
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


async def test_batches_of_the_capacity_are_handled_in_order_and_committed() -> None:
    bench = Bench(records("a", "b", "c"), capacity=lambda: 2)
    await bench.consumer.run()
    assert bench.batches == [["a", "b"], ["c"]]
    assert bench.member.committed == [0, 1, 2]


async def test_without_capacity_nothing_is_fetched() -> None:
    rooms = [0, 0, 5, 5]
    bench = Bench(records("a"), capacity=lambda: rooms.pop(0))
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
    await running
    assert member.ended


async def test_a_cancellation_that_meets_the_stop_ends_the_consumer() -> None:
    bench = Bench([])
    member = WaitingGroupMember([], bench.clock)
    bench.member = member
    consumer = bench.made()
    running = asyncio.create_task(consumer.run())
    await eventually(lambda: member.waiting)
    consumer.stop()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert member.ended
