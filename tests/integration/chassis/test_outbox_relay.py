from collections.abc import AsyncIterator

import pytest
from mobiletest.catalog.v1 import apps_pb2

from services.chassis import metrics
from services.chassis.leases import LEASES, MongoLease
from services.chassis.outbox import OUTBOX
from services.chassis.outbox_relay import RelayIntervals
from tests.eventually import eventually
from tests.integration.chassis.outbox_harness import NEVER, OutboxHarness, outbox_harness


@pytest.fixture
async def harness(
    mongo_uri: str, mongo_database: str, kafka_bootstrap: str, topic_suffix: str
) -> AsyncIterator[OutboxHarness]:
    async with outbox_harness(mongo_uri, mongo_database, kafka_bootstrap, f"outbox-{topic_suffix}") as ready:
        yield ready


async def test_events_of_a_process_that_died_are_published_by_the_sweep(harness: OutboxHarness) -> None:
    """It died between its commit and the publication."""
    await harness.write("a", "b", fast=False)
    async with harness.consuming(), harness.relaying():
        await eventually(lambda: sorted(harness.arrived) == ["a", "b"])
        await eventually(harness.all_sent)


async def test_one_sweep_publishes_all_batches(harness: OutboxHarness) -> None:
    for start in range(0, 1200, 300):
        await harness.write(*(str(n) for n in range(start, start + 300)), fast=False)
    async with harness.consuming(), harness.relaying(RelayIntervals(sweep=NEVER, leftover_age=-1)):
        await eventually(lambda: len(harness.arrived) == 1200)


async def test_one_of_several_processes_sweeps(harness: OutboxHarness) -> None:
    await harness.write(*(str(n) for n in range(50)), fast=False)
    async with harness.consuming(), harness.relaying(), harness.relaying(), harness.relaying():
        await eventually(lambda: len(harness.arrived) >= 50)
        await eventually(harness.all_sent)
    assert len(harness.arrived) == 50


async def test_only_the_process_that_sweeps_shows_what_is_pending(harness: OutboxHarness) -> None:
    relay, another = harness.relay(), MongoLease(harness.mongo, "outbox-sweeper", "another process", seconds=60)
    await harness.write("a", fast=False)
    assert await relay.sweep()
    assert shown("mobiletest_outbox_pending") == 1
    assert 0 <= (shown("mobiletest_outbox_oldest_seconds") or -1) < 60
    await harness.mongo.collection(LEASES).delete_many({})
    assert await another.acquire()
    assert not await relay.sweep()
    assert (shown("mobiletest_outbox_pending"), shown("mobiletest_outbox_oldest_seconds")) == (None, None)
    await another.release()
    await relay.sweep()
    assert shown("mobiletest_outbox_pending") is not None


def shown(name: str) -> float | None:
    return metrics.REGISTRY.get_sample_value(name)


async def test_events_of_a_key_arrive_in_order(harness: OutboxHarness) -> None:
    """Without the sweep, which may send events again that a slow broker has not acknowledged yet."""
    async with harness.consuming(), harness.relaying(RelayIntervals(sweep=NEVER)):
        for number in range(20):
            events = [harness.outbox.event(harness.topic, "one key", apps_pb2.App(name=str(number)), sequence=number)]
            await harness.mongo.transaction(lambda session, events=events: harness.outbox.add(session, events))  # type: ignore[misc]
            harness.outbox.publish_soon(events)
        await eventually(lambda: len(harness.arrived) == 20)
        await eventually(harness.all_sent)
    assert harness.sequences == list(range(20))
    assert await harness.mongo.collection(OUTBOX).count_documents({"sent_at": None}) == 0
