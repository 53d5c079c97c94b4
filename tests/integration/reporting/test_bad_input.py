"""Bad input hurts only itself, and too much of it stops its partition. Each test breaks a broker of its own."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from aiokafka.partitioner import DefaultPartitioner
from mobiletest.executor.v1 import events_pb2 as executor

from deploy.local.broker import broker
from deploy.local.service import status
from services.chassis import metrics
from services.chassis.consumer import Consumer, Handler
from services.chassis.dead_letters.__main__ import Settings as CommandSettings
from services.chassis.dead_letters.__main__ import build_parser, replay_letters
from services.chassis.dead_letters.letters import DeadLetter
from services.chassis.dead_letters.limit import DlqLimit
from services.chassis.dead_letters.replay import read_letters
from services.chassis.lifecycle import Background
from services.chassis.producer import Producer, Record
from services.chassis.topics import open_reader
from services.reporting.app import open_database
from services.reporting.consumer import EXECUTION_EVENTS, TOPICS, EventHandler
from services.reporting.settings import Settings
from services.reporting.usecases.projector import Projector
from tests.eventually import eventually
from tests.fakes.reporting_event_log import EventLog
from tests.fakes.reporting_faulty_projections import FaultyProjections
from tests.fakes.reporting_poison_messages import poison, record_of, run_event, run_lifecycles
from tests.integration.reporting.conftest import Service, serving
from tests.published_offsets import PublishedOffsets


@pytest.fixture
async def producer(tmp_path: Path) -> AsyncIterator[Producer]:
    """To a broker that nobody else reads."""
    async with broker(tmp_path / "broker.log") as own, Producer(own.bootstrap, TOPICS, idempotence=False) as producer:
        yield producer


@pytest.fixture
def settings(settings: Settings, producer: Producer, mongo_database: str) -> Settings:
    own = {"kafka_bootstrap": str(producer.kafka), "mongo_database": mongo_database, "invalid_window": 100}
    return settings.model_copy(update=own)


async def send(service: Service, records: list[Record]) -> None:
    """Publish records as they are, and have them acknowledged."""
    service.published.note(records, await service.producer.publish_records(records))


async def sees(service: Service, desk: EventLog, executions: int) -> bool:
    return await service.executions(desk.app_id) == executions


async def letters(producer: Producer) -> list[DeadLetter]:
    async with open_reader(producer.kafka) as consumer:
        return [letter async for letter in read_letters(producer.kafka, consumer, f"{EXECUTION_EVENTS}.dlq")]


async def test_poison_messages_are_dead_lettered_and_valid_ones_applied(
    settings: Settings, producer: Producer, desk: EventLog
) -> None:
    """All of it in one partition, in the midst of valid events."""
    bad = poison(desk)
    good = run_lifecycles(desk, len(bad))
    unknown = replace(good[0], type="mobiletest.executor.v9.RunDreamt", id="unknown")
    skipped = metrics.REGISTRY.get_sample_value("mobiletest_reporting_unknown_events_total") or 0
    mixed = [record_of(unknown)]
    for number, (_, record) in enumerate(bad):
        mixed += [*map(record_of, good[4 * number : 4 * number + 4]), record]
    mixed = [replace(record, key=b"one-partition") for record in mixed]
    async with serving(settings, producer) as (_, service):
        await send(service, mixed)
        await service.applied()
        assert len(service.published.ends) == 1
        assert await service.executions(desk.app_id) == len(bad)
        dead = await letters(producer)
        assert Counter(letter.reason for letter in dead) == Counter(reason for reason, _ in bad)
        assert [letter.record.value for letter in dead] == [record.value for _, record in bad]
        assert all(letter.message and letter.group == settings.consumer_group for letter in dead)
    assert metrics.REGISTRY.get_sample_value("mobiletest_reporting_unknown_events_total") == skipped + 1


async def test_too_many_invalid_messages_stop_only_their_partition(
    settings: Settings, producer: Producer, desk: EventLog
) -> None:
    """Reporting stays ready, answers lookups, and applies the events of the other partitions. With a higher limit the
    invalid messages are dead-lettered, and the events after them are applied.
    """
    key = key_of_another_partition(desk.app_id)
    broken = replace(run_event(desk), payload=b"\xff\xff", key=key)
    await producer.publish([replace(broken, id=str(number)) for number in range(200)])
    async with serving(settings, producer) as (app, service):
        await eventually(lambda: held_partitions(settings) == 1)
        await producer.publish([replace(event, key=key) for event in run_lifecycles(desk, 1)])
        await service.publish(*(replace(event, key=desk.app_id) for event in run_lifecycles(desk, 2)))
        await service.applied()
        assert await service.executions(desk.app_id) == 2
        assert await status(f"http://{app.admin_address}/readyz") == 200
        assert await letters(producer) == []
    assert held_partitions(settings) == 0
    async with serving(settings.model_copy(update={"invalid_share": 1.0}), producer) as (_, service):
        await eventually(lambda: sees(service, desk, 3))
    assert len(await letters(producer)) == 200


def key_of_another_partition(key: str) -> str:
    """A key whose events are in another partition than those of this one."""
    partitions = range(TOPICS[EXECUTION_EVENTS])

    def partition(text: str) -> int:
        return int(DefaultPartitioner()(text.encode(), partitions, partitions))

    return next(other for other in map(str, range(100)) if partition(other) != partition(key))


def held_partitions(settings: Settings) -> int:
    """How many partitions the metric calls held."""
    text = metrics.render().decode()
    return sum(
        line.startswith("mobiletest_kafka_partition_held{") and f'group="{settings.consumer_group}"' in line
        for line in text.splitlines()
    )


@asynccontextmanager
async def consuming(settings: Settings, producer: Producer, handler: Handler) -> AsyncIterator[None]:
    """Reporting's group, with another handler."""
    consumer = Consumer(
        [EXECUTION_EVENTS],
        settings.consumer_group,
        handler,
        kafka=producer.kafka,
        instance_id=None,
        dlq=producer,
        session_seconds=2,
        dlq_limit=DlqLimit(),
    )
    async with Background() as background, background.run("consumer", consumer.run(), stop=consumer.stop):
        yield


async def test_a_bug_costs_only_the_events_it_fails_on_until_they_are_replayed(
    settings: Settings, producer: Producer, desk: EventLog
) -> None:
    """A bug in the fold costs the events of one run among 12, which share its partition; the others show."""
    events, published = [replace(each, key="one-partition") for each in run_lifecycles(desk, 12)], PublishedOffsets()
    run_id = executor.RunChanged.FromString(events[41].payload).run.id
    published.note(events, await producer.publish(events))
    async with (
        open_database(settings) as mongo,
        consuming(settings, producer, EventHandler(Projector(FaultyProjections(mongo, run_id))).handle),
    ):
        await published.applied(settings.kafka_bootstrap, settings.consumer_group)
    async with serving(settings, producer) as (_, service):
        await service.publish(*run_lifecycles(desk, 1))
        await service.applied()
        assert await service.executions(desk.app_id) == 12
        dead = await letters(producer)
        assert len(dead) == 3
        assert {(letter.reason, letter.message) for letter in dead} == {("HANDLER_FAILED", "KeyError: 'colour'")}
        assert {executor.RunChanged.FromString(letter.record.value or b"").run.id for letter in dead} == {run_id}
        commands = CommandSettings(kafka_bootstrap=str(producer.kafka), kafka_idempotence=False)
        await replay_letters(commands, build_parser().parse_args(["replay", "--reason", "HANDLER_FAILED"]), print)
        await eventually(lambda: sees(service, desk, 13))
        await replay_letters(commands, build_parser().parse_args(["replay", "--again"]), print)
        await service.publish(*run_lifecycles(desk, 1))
        await service.applied()
        assert await service.executions(desk.app_id) == 14
