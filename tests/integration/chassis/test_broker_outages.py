"""A broker that restarts, hangs, starts late, or comes back without its topics."""

import asyncio
import gc
import logging
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

import pytest

from services.chassis import metrics
from services.chassis.producer import Producer, PublishResult, Record
from services.chassis.republish import republish
from tests.eventually import eventually
from tests.integration.chassis.outbox_harness import PARTITIONS, OutboxHarness, outbox_harness
from tests.integration.chassis.proxies import BrokerProxy

Frozen = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def topic(topic_suffix: str) -> str:
    return f"outages-{topic_suffix}"


@pytest.fixture
async def harness(
    mongo_uri: str, mongo_database: str, broker_proxy: BrokerProxy, topic: str
) -> AsyncIterator[OutboxHarness]:
    async with outbox_harness(mongo_uri, mongo_database, broker_proxy.bootstrap, topic, publish_seconds=2.0) as ready:
        yield ready


@pytest.fixture
def frozen(broker_proxy: BrokerProxy) -> Frozen:
    """Freezes the broker inside of its block."""

    @contextmanager
    def freeze() -> Iterator[None]:
        broker_proxy.broker.child.send(signal.SIGSTOP)
        try:
            yield
        finally:
            broker_proxy.broker.child.send(signal.SIGCONT)

    return freeze


def keys(prefix: str, count: int) -> set[str]:
    return {f"{prefix}{number}" for number in range(count)}


async def arrived(harness: OutboxHarness, expected: set[str]) -> None:
    await eventually(lambda: expected <= set(harness.arrived))


async def test_no_event_is_lost_over_repeated_restarts(harness: OutboxHarness, broker_proxy: BrokerProxy) -> None:
    async with harness.consuming(), harness.relaying():
        for round_ in range(5):
            await harness.write(*keys(f"{round_}-", 20))
            await broker_proxy.stop()
            await harness.write(*keys(f"{round_}+", 20))
            await broker_proxy.start()
        expected = {key for n in range(5) for sign in "-+" for key in keys(f"{n}{sign}", 20)}
        await arrived(harness, expected)
        await eventually(harness.all_sent)


async def test_republish_restores_the_events_of_a_broker_that_lost_its_topics(
    harness: OutboxHarness, broker_proxy: BrokerProxy
) -> None:
    """Consumer and relay run on all the time; the consumer joins its group again and reads from the beginning."""
    async with harness.consuming(), harness.relaying():
        for round_ in range(2):
            await harness.write(*keys(f"before-{round_}-", 20))
            await arrived(harness, keys(f"before-{round_}-", 20))
            await broker_proxy.stop()
            await harness.write(*keys(f"during-{round_}-", 10))
            harness.arrived.clear()
            await broker_proxy.lose_topics(harness.topic, PARTITIONS)
            await broker_proxy.start()
            await republish(harness.mongo, harness.producer)
            past = range(round_ + 1)
            expected = {key for n in past for key in keys(f"before-{n}-", 20) | keys(f"during-{n}-", 10)}
            await arrived(harness, expected)
        await harness.write("after")
        await arrived(harness, {"after"})


async def test_a_broker_that_hangs_does_not_delay_writes(harness: OutboxHarness, frozen: Frozen) -> None:
    async with harness.consuming(), harness.relaying():
        await harness.write(*keys("before", 5))
        await arrived(harness, keys("before", 5))
        with frozen():
            await harness.write(*keys("during", 5))
            assert await harness.pending() == 5
        await arrived(harness, keys("during", 5))


async def test_records_that_a_frozen_broker_never_acknowledges_leave_no_unhandled_failure(
    broker_proxy: BrokerProxy, topic: str, frozen: Frozen, caplog: pytest.LogCaptureFixture
) -> None:
    """The publish times out before aiokafka gives up the records, so their futures fail afterwards."""
    caplog.set_level(logging.CRITICAL, "aiokafka")  # captured records would keep the futures alive
    unhandled: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, problem: unhandled.append(problem))
    records = [Record(topic, None, b"x", []) for _ in range(5)]
    async with Producer(broker_proxy.bootstrap, {topic: 1}, idempotence=False, timeout=0.5) as producer:
        await eventually(lambda: publishes(producer, records))
        before = counted_failures(topic)
        with frozen():
            publishing = [producer.publish_records(records) for _ in range(3)]
            assert [failures(results) for results in await asyncio.gather(*publishing)] == [5, 5, 5]
            assert failures(await producer.publish_records(records)) == 5
        await eventually(lambda: publishes(producer, records))
    gc.collect()
    assert unhandled == []
    assert counted_failures(topic) >= before + 15


def failures(results: Sequence[PublishResult | Exception]) -> int:
    return sum(isinstance(result, Exception) for result in results)


async def publishes(producer: Producer, records: Sequence[Record]) -> bool:
    return failures(await producer.publish_records(records)) == 0


def counted_failures(topic: str) -> float:
    name, labels = "mobiletest_kafka_publish_failures_total", {"topic": topic, "error": "TimeoutError"}
    return metrics.REGISTRY.get_sample_value(name, labels) or 0.0


async def test_a_start_does_not_wait_for_a_frozen_broker(broker_proxy: BrokerProxy, topic: str, frozen: Frozen) -> None:
    producer = Producer(broker_proxy.bootstrap, {topic: 1}, idempotence=False, timeout=60.0)
    with frozen():
        async with asyncio.timeout(20):
            await producer.start()
    assert await publishes(producer, [Record(topic, None, b"x", [])])
    await producer.stop()


async def test_a_service_that_starts_before_its_broker_waits_for_it(
    mongo_uri: str, mongo_database: str, broker_proxy: BrokerProxy, topic: str
) -> None:
    await broker_proxy.stop()
    starting = outbox_harness(mongo_uri, mongo_database, broker_proxy.bootstrap, topic, publish_seconds=2.0)
    async with starting as early, early.consuming(), early.relaying():
        await early.write("a")
        await broker_proxy.start()
        await arrived(early, {"a"})
