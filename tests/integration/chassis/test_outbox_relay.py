from collections.abc import AsyncIterator

import pytest
from mobiletest.catalog.v1 import apps_pb2

from services.chassis.outbox import OUTBOX
from services.chassis.outbox_relay import NEWEST_BY_PLACE, RelayIntervals
from tests.eventually import eventually
from tests.integration.chassis.outbox_harness import NEVER, OutboxHarness, bench


@pytest.fixture
async def calm(
    mongo_uri: str, mongo_database: str, kafka_bootstrap: str, topic_suffix: str
) -> AsyncIterator[OutboxHarness]:
    async with bench(mongo_uri, mongo_database, kafka_bootstrap, f"outbox-{topic_suffix}") as ready:
        yield ready


async def test_what_was_committed_is_published_without_the_sweeper(calm: OutboxHarness) -> None:
    async with calm.consuming(), calm.relaying(RelayIntervals(sweep=NEVER)):
        await calm.write("a", "b")
        await eventually(lambda: sorted(calm.arrived) == ["a", "b"])
        await eventually(lambda: _none(calm))
    row = await calm.mongo.collection(OUTBOX).find_one({"subject": "a"})
    assert row["sent_at"] is not None
    assert row["offset"] >= 0


async def test_what_was_left_over_is_swept(calm: OutboxHarness) -> None:
    """The process died between its commit and the publication."""
    await calm.write("a", "b", fast=False)
    async with calm.consuming(), calm.relaying():
        await eventually(lambda: sorted(calm.arrived) == ["a", "b"])
        await eventually(lambda: _none(calm))


async def test_many_leftovers_are_swept_in_one_go(calm: OutboxHarness) -> None:
    for start in range(0, 1200, 300):
        await calm.write(*(str(n) for n in range(start, start + 300)), fast=False)
    async with calm.consuming(), calm.relaying(RelayIntervals(sweep=NEVER, leftover_age=-1)):
        await eventually(lambda: len(calm.arrived) == 1200)


async def test_of_several_processes_one_sweeps(calm: OutboxHarness) -> None:
    await calm.write(*(str(n) for n in range(50)), fast=False)
    async with calm.consuming(), calm.relaying(), calm.relaying(), calm.relaying():
        await eventually(lambda: len(calm.arrived) >= 50)
        await eventually(lambda: _none(calm))
    assert len(calm.arrived) == 50


async def test_events_of_a_key_arrive_in_the_order_of_their_commits(calm: OutboxHarness) -> None:
    """Without the sweeper, which may send again what a slow broker has not acknowledged yet."""
    async with calm.consuming(), calm.relaying(RelayIntervals(sweep=NEVER)):
        for number in range(20):
            events = [calm.outbox.event(calm.topic, "one key", apps_pb2.App(id=str(number)), sequence=number)]
            await calm.mongo.transaction(lambda session, events=events: calm.outbox.add(session, events))  # type: ignore[misc]
            calm.outbox.publish_soon(events)
        await eventually(lambda: len(calm.arrived) == 20)
        await eventually(lambda: _none(calm))
    rows = await calm.mongo.collection(OUTBOX).find({}).sort("offset", 1).to_list(None)
    assert [row["sequence"] for row in rows] == list(range(20))


async def test_a_broker_that_has_everything_is_given_nothing_again(calm: OutboxHarness) -> None:
    async with calm.consuming(), calm.relaying():
        await calm.write(*(str(n) for n in range(30)))
        await eventually(lambda: len(calm.arrived) == 30)
        await eventually(lambda: _none(calm))
        assert await calm.relay().check() == 0


async def test_the_watermarks_cost_one_lookup_per_partition(calm: OutboxHarness) -> None:
    async with calm.relaying():
        await calm.write(*(str(n) for n in range(200)))
        await eventually(lambda: _none(calm))
    stages = await calm.mongo.database.command(
        "explain", {"aggregate": OUTBOX, "pipeline": NEWEST_BY_PLACE, "cursor": {}}
    )
    assert "DISTINCT_SCAN" in str(stages)


async def test_without_a_broker_nothing_waits_for_it(mongo_uri: str, mongo_database: str, topic_suffix: str) -> None:
    async with bench(mongo_uri, mongo_database, "127.0.0.1:9", f"outbox-{topic_suffix}") as cut, cut.relaying():
        for number in range(20):
            await cut.write(str(number))
        assert await cut.pending() == 20


async def _none(calm: OutboxHarness) -> bool:
    return await calm.pending() == 0
