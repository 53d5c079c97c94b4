"""A broker that dies, hangs, or comes back without its memory (Tansu keeps its log there)."""

import signal
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from deploy.local.broker import Broker
from services.chassis.producer import Producer, PublishResult
from tests.eventually import eventually
from tests.integration.chassis.outbox_harness import NEVER, PACE, OutboxHarness, bench
from tests.unit.chassis.samples import an_event

TOPIC = "events"


@pytest.fixture
async def shaken(mongo_uri: str, mongo_database: str, own_broker: Broker) -> AsyncIterator[OutboxHarness]:
    async with bench(mongo_uri, mongo_database, own_broker.bootstrap, TOPIC) as ready:
        yield ready


def keys(prefix: str, count: int) -> set[str]:
    return {f"{prefix}{number}" for number in range(count)}


async def arrived(shaken: OutboxHarness, expected: set[str]) -> None:
    await eventually(lambda: expected <= set(shaken.arrived), within=60)


async def test_after_a_restart_new_and_old_arrive_without_a_restart_of_ours(
    shaken: OutboxHarness, own_broker: Broker
) -> None:
    async with shaken.consuming(), shaken.relaying():
        await shaken.write(*keys("before", 40))
        await arrived(shaken, keys("before", 40))
        await own_broker.child.kill()
        await shaken.write(*keys("during", 10))
        shaken.arrived.clear()
        await own_broker.start()
        await arrived(shaken, keys("before", 40) | keys("during", 10))
        await shaken.write(*keys("after", 10))
        await arrived(shaken, keys("after", 10))
        await eventually(lambda: _quiet(shaken))


async def test_a_restart_too_short_to_be_noticed_by_a_poll_is_noticed(
    shaken: OutboxHarness, own_broker: Broker
) -> None:
    async with shaken.consuming(), shaken.relaying():
        for round_ in range(3):
            await shaken.write(*keys(f"{round_}-", 5))
            await arrived(shaken, keys(f"{round_}-", 5))
            shaken.arrived.clear()
            await own_broker.child.kill()
            await own_broker.start()
            await arrived(shaken, {key for past in range(round_ + 1) for key in keys(f"{past}-", 5)})


async def test_a_log_that_grew_beyond_the_watermark_is_seen_to_be_another(
    shaken: OutboxHarness, own_broker: Broker
) -> None:
    """While no relay ran, the broker lost all and others wrote more than there had been."""
    async with shaken.relaying():
        await shaken.write(*keys("lost", 20))
        await eventually(lambda: _quiet(shaken))
    await own_broker.child.kill()
    await own_broker.start()
    async with Producer(own_broker.bootstrap, {TOPIC: 3}, idempotence=False) as other:
        results = await other.publish([an_event(TOPIC, key=str(n)) for n in range(200)])
        assert all(isinstance(result, PublishResult) for result in results)
    async with shaken.consuming(), shaken.relaying():
        await arrived(shaken, keys("lost", 20))


async def test_what_is_written_after_a_loss_does_not_hide_it(shaken: OutboxHarness, own_broker: Broker) -> None:
    """The new rows would soon lie beyond the old watermarks, so the look comes before the first of them."""
    async with shaken.consuming(), shaken.relaying(replace(PACE, check=NEVER)):
        await shaken.write(*keys("before", 5))
        await arrived(shaken, keys("before", 5))
        await own_broker.child.kill()
        await shaken.write(*keys("during", 100))
        shaken.arrived.clear()
        await own_broker.start()
        await arrived(shaken, keys("before", 5) | keys("during", 100))


async def test_nothing_is_published_on_a_connection_that_was_not_looked_at(
    shaken: OutboxHarness, own_broker: Broker
) -> None:
    former = await shaken.producer.connect()
    await own_broker.child.kill()
    await own_broker.start()
    await eventually(lambda: _connected_anew(shaken, former))
    results = await shaken.producer.publish([an_event(TOPIC)], connection=former)
    assert isinstance(results[0], Exception)
    results = await shaken.producer.publish([an_event(TOPIC)], connection=await shaken.producer.connect())
    assert isinstance(results[0], PublishResult)
    assert results[0].offset == 0


async def test_a_broker_that_hangs_holds_up_nobody(shaken: OutboxHarness, own_broker: Broker) -> None:
    async with shaken.consuming(), shaken.relaying():
        await shaken.write(*keys("before", 5))
        await arrived(shaken, keys("before", 5))
        own_broker.child.send(signal.SIGSTOP)
        try:
            await shaken.write(*keys("during", 5))
            assert await shaken.pending() == 5
        finally:
            own_broker.child.send(signal.SIGCONT)
        await arrived(shaken, keys("during", 5))


async def test_writes_go_on_through_restart_after_restart(shaken: OutboxHarness, own_broker: Broker) -> None:
    async with shaken.consuming(), shaken.relaying():
        for round_ in range(5):
            await shaken.write(*keys(f"{round_}-", 20))
            await own_broker.child.kill()
            await shaken.write(*keys(f"{round_}+", 20))
            await own_broker.start()
        expected = {key for n in range(5) for sign in "-+" for key in keys(f"{n}{sign}", 20)}
        await arrived(shaken, expected)
        await eventually(lambda: _quiet(shaken))


async def test_a_service_that_starts_before_its_broker_waits_for_it(
    mongo_uri: str, mongo_database: str, own_broker: Broker
) -> None:
    await own_broker.stop()
    starting = bench(mongo_uri, mongo_database, own_broker.bootstrap, TOPIC)
    async with starting as early, early.consuming(), early.relaying():
        await early.write("a")
        await own_broker.start()
        await arrived(early, {"a"})


async def _quiet(shaken: OutboxHarness) -> bool:
    return await shaken.pending() == 0


async def _connected_anew(shaken: OutboxHarness, former: int) -> bool:
    return await shaken.producer.connect() > former
