"""A broker that restarts, hangs, starts late, or comes back without its topics."""

import asyncio
import gc
import logging
import signal
from collections.abc import AsyncIterator, Sequence

import pytest

from deploy.local.broker import Broker
from services.chassis import metrics
from services.chassis.producer import Producer, PublishResult, Record
from services.chassis.republish import republish
from tests.eventually import eventually
from tests.integration.chassis.broker_proxy import BrokerProxy
from tests.integration.chassis.outbox_harness import PARTITIONS, OutboxHarness, outbox_harness

TOPIC = "events"


@pytest.fixture
async def harness(mongo_uri: str, mongo_database: str, own_broker: Broker) -> AsyncIterator[OutboxHarness]:
    async with outbox_harness(mongo_uri, mongo_database, own_broker.bootstrap, TOPIC) as ready:
        yield ready


@pytest.fixture
async def proxied(mongo_uri: str, mongo_database: str, broker_proxy: BrokerProxy) -> AsyncIterator[OutboxHarness]:
    async with outbox_harness(mongo_uri, mongo_database, broker_proxy.bootstrap, TOPIC) as ready:
        yield ready


def keys(prefix: str, count: int) -> set[str]:
    return {f"{prefix}{number}" for number in range(count)}


async def arrived(harness: OutboxHarness, expected: set[str]) -> None:
    await eventually(lambda: expected <= set(harness.arrived), within=60)


async def test_events_written_during_an_outage_arrive_after_it(
    proxied: OutboxHarness, broker_proxy: BrokerProxy
) -> None:
    async with proxied.consuming(), proxied.relaying():
        await proxied.write(*keys("before", 40))
        await arrived(proxied, keys("before", 40))
        await broker_proxy.stop()
        await proxied.write(*keys("during", 10))
        await broker_proxy.start()
        await proxied.write(*keys("after", 10))
        await arrived(proxied, keys("during", 10) | keys("after", 10))
        await eventually(lambda: nothing_pending(proxied))


async def test_no_event_is_lost_over_repeated_restarts(proxied: OutboxHarness, broker_proxy: BrokerProxy) -> None:
    async with proxied.consuming(), proxied.relaying():
        for round_ in range(5):
            await proxied.write(*keys(f"{round_}-", 20))
            await broker_proxy.stop()
            await proxied.write(*keys(f"{round_}+", 20))
            await broker_proxy.start()
        expected = {key for n in range(5) for sign in "-+" for key in keys(f"{n}{sign}", 20)}
        await arrived(proxied, expected)
        await eventually(lambda: nothing_pending(proxied))


async def test_republish_restores_the_events_of_a_broker_that_lost_its_topics(
    proxied: OutboxHarness, broker_proxy: BrokerProxy
) -> None:
    """Consumer and relay run on all the time; the consumer joins its group again and reads from the beginning."""
    async with proxied.consuming(), proxied.relaying():
        for round_ in range(2):
            await proxied.write(*keys(f"before-{round_}-", 20))
            await arrived(proxied, keys(f"before-{round_}-", 20))
            await broker_proxy.stop()
            await proxied.write(*keys(f"during-{round_}-", 10))
            proxied.arrived.clear()
            await broker_proxy.lose_topics(TOPIC, PARTITIONS)
            await broker_proxy.start()
            await republish(proxied.mongo, proxied.producer)
            past = range(round_ + 1)
            expected = {key for n in past for key in keys(f"before-{n}-", 20) | keys(f"during-{n}-", 10)}
            await arrived(proxied, expected)
        await proxied.write("after")
        await arrived(proxied, {"after"})


async def test_a_broker_that_hangs_does_not_delay_writes(harness: OutboxHarness, own_broker: Broker) -> None:
    async with harness.consuming(), harness.relaying():
        await harness.write(*keys("before", 5))
        await arrived(harness, keys("before", 5))
        own_broker.child.send(signal.SIGSTOP)
        try:
            await harness.write(*keys("during", 5))
            assert await harness.pending() == 5
        finally:
            own_broker.child.send(signal.SIGCONT)
        await arrived(harness, keys("during", 5))


async def test_records_that_a_frozen_broker_never_acknowledges_leave_no_unhandled_failure(
    own_broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    """The publish times out before aiokafka gives up the records, so their futures fail afterwards."""
    caplog.set_level(logging.CRITICAL, "aiokafka")  # captured records would keep the futures alive
    unhandled: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, problem: unhandled.append(problem))
    records = [Record(TOPIC, None, b"x", []) for _ in range(5)]
    async with Producer(own_broker.bootstrap, {TOPIC: 1}, idempotence=False, timeout=2.0) as producer:
        assert failures(await producer.publish_records(records)) == 0
        before = counted_failures()
        own_broker.child.send(signal.SIGSTOP)
        try:
            publishes = [producer.publish_records(records) for _ in range(3)]
            assert [failures(results) for results in await asyncio.gather(*publishes)] == [5, 5, 5]
            assert failures(await producer.publish_records(records)) == 5
        finally:
            own_broker.child.send(signal.SIGCONT)
        await eventually(lambda: publishes_again(producer, records))
    gc.collect()
    assert unhandled == []
    assert counted_failures() >= before + 15


def failures(results: Sequence[PublishResult | Exception]) -> int:
    return sum(isinstance(result, Exception) for result in results)


async def publishes_again(producer: Producer, records: Sequence[Record]) -> bool:
    return failures(await producer.publish_records(records)) == 0


def counted_failures() -> float:
    name, labels = "mobiletest_kafka_publish_failures_total", {"topic": TOPIC, "error": "TimeoutError"}
    return metrics.REGISTRY.get_sample_value(name, labels) or 0.0


async def test_a_start_does_not_wait_for_a_frozen_broker(own_broker: Broker) -> None:
    own_broker.child.send(signal.SIGSTOP)
    try:
        producer = Producer(own_broker.bootstrap, {TOPIC: 1}, idempotence=False, timeout=60.0)
        async with asyncio.timeout(20):
            await producer.start()
    finally:
        own_broker.child.send(signal.SIGCONT)
    assert failures(await producer.publish_records([Record(TOPIC, None, b"x", [])])) == 0
    await producer.stop()


async def test_a_service_that_starts_before_its_broker_waits_for_it(
    mongo_uri: str, mongo_database: str, own_broker: Broker
) -> None:
    await own_broker.stop()
    starting = outbox_harness(mongo_uri, mongo_database, own_broker.bootstrap, TOPIC)
    async with starting as early, early.consuming(), early.relaying():
        await early.write("a")
        await own_broker.start()
        await arrived(early, {"a"})


async def nothing_pending(harness: OutboxHarness) -> bool:
    return await harness.pending() == 0
