"""The command that publishes again what an outbox retains."""

from argparse import ArgumentParser
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from mobiletest.catalog.v1 import apps_pb2

from services.chassis.outbox import OUTBOX, to_document, to_rows
from services.chassis.producer import Producer
from services.chassis.republish import BATCH, RepublishFailed, add_command, republish, run_command
from tests.eventually import eventually
from tests.integration.chassis.outbox_harness import OutboxHarness, outbox_harness
from tests.unit.chassis.samples import process_settings

NOON = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


@pytest.fixture
async def harness(
    mongo_uri: str, mongo_database: str, kafka_bootstrap: str, topic_suffix: str
) -> AsyncIterator[OutboxHarness]:
    async with outbox_harness(mongo_uri, mongo_database, kafka_bootstrap, f"republish-{topic_suffix}") as ready:
        yield ready


async def write_sent(harness: OutboxHarness, count: int) -> None:
    """Events of one key, a second apart, stored in reverse order and marked as sent just now: they must not expire."""
    documents = []
    for number in reversed(range(count)):
        event = harness.outbox.event(harness.topic, "key", apps_pb2.App(name=str(number)), sequence=number)
        [row] = to_rows([event])
        document = to_document(row) | {"time": NOON + timedelta(seconds=number), "sent_at": datetime.now(UTC)}
        documents.append({name: value for name, value in document.items() if name != "pending"})
    await harness.mongo.collection(OUTBOX).insert_many(documents)


async def test_all_retained_events_are_published_in_order(harness: OutboxHarness) -> None:
    await write_sent(harness, BATCH + 3)
    lines: list[str] = []
    assert await republish(harness.mongo, harness.producer, report=lines.append) == BATCH + 3
    assert lines == [f"published {BATCH + 3} events to {harness.producer.kafka}"]
    async with harness.consuming():
        await eventually(lambda: len(harness.sequences) >= BATCH + 3)
    assert harness.sequences == list(range(BATCH + 3))


async def test_older_events_can_be_left_out_and_a_dry_run_publishes_nothing(harness: OutboxHarness) -> None:
    await write_sent(harness, 5)
    async with harness.consuming():
        assert await republish(harness.mongo, harness.producer, dry_run=True) == 5
        assert await republish(harness.mongo, harness.producer, since=NOON + timedelta(seconds=3)) == 2
        await eventually(lambda: len(harness.sequences) >= 2)
    assert harness.sequences == [3, 4]


async def test_without_a_broker_it_fails_and_says_so(harness: OutboxHarness) -> None:
    producer = Producer("127.0.0.1:9", {harness.topic: 1}, timeout=1.0)
    with pytest.raises(RepublishFailed, match=r"127\.0\.0\.1:9 is not available"):
        await republish(harness.mongo, producer, attempts=2)


def test_the_command_reports_what_it_did(
    mongo_uri: str, mongo_database: str, kafka_bootstrap: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = ArgumentParser()
    add_command(parser.add_subparsers())
    settings = process_settings(mongo_uri=mongo_uri, kafka_bootstrap=kafka_bootstrap, kafka_idempotence=False)
    for arguments, line in (
        (["--dry-run"], f"would publish 0 events to {kafka_bootstrap}\n"),
        (["--since", "2026-01-31"], f"published 0 events to {kafka_bootstrap}\n"),
    ):
        parsed = parser.parse_args(["republish", *arguments])
        assert run_command(settings, mongo_database, {}, parsed) == 0
        assert capsys.readouterr().out == line


def test_an_invalid_time_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    parser = ArgumentParser()
    add_command(parser.add_subparsers())
    with pytest.raises(SystemExit):
        parser.parse_args(["republish", "--since", "yesterday"])
    assert "'yesterday' is not a time such as 2026-01-31T12:00:00Z" in capsys.readouterr().err
