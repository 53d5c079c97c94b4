"""Bad input hurts only itself, and too much of it stops the service. Each test breaks a broker of its own."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from mobiletest.executor.v1 import events_pb2 as executor
from mobiletest.reporting.v1 import reports_pb2, reports_pb2_grpc
from pydantic import SecretStr
from pymongo import MongoClient

from deploy.local.broker import broker
from services.chassis import metrics, rpc
from services.chassis.consuming import Consumer
from services.chassis.context import Caller, bind
from services.chassis.dead_letters.commands import parser, replayed
from services.chassis.dead_letters.letters import Letter
from services.chassis.dead_letters.limit import TooManyInvalid
from services.chassis.dead_letters.reading import client, letters_of
from services.chassis.dead_letters.settings import Settings as CommandSettings
from services.chassis.events import Event, Headers, InvalidMessage, encode
from services.chassis.kafka import Producer, Record
from services.reporting.app import App, running
from services.reporting.consumer import EXECUTION_EVENTS, TOPICS
from services.reporting.settings import Settings
from tests.eventually import eventually
from tests.fakes.reporting_events import Desk, event
from tests.integration.reporting.conftest import TOKEN, Service

ONE_MEGABYTE = 1024 * 1024


@pytest.fixture
async def producer(tmp_path: Path) -> AsyncIterator[Producer]:
    """To a broker that nobody else reads."""
    async with broker(tmp_path / "broker.log") as own, Producer(own.bootstrap, TOPICS, idempotence=False) as producer:
        await producer.connect()
        yield producer


@pytest.fixture
def settings(mongo_uri: str, producer: Producer, mongo_client: MongoClient[dict[str, Any]]) -> Iterator[Settings]:
    name = f"test_{uuid4().hex}"
    yield Settings(
        service_tokens=SecretStr(TOKEN),
        mongo_uri=mongo_uri,
        mongo_database=name,
        kafka_bootstrap=producer.bootstrap,
        kafka_idempotence=False,
        kafka_session_seconds=2,
        invalid_window=100,
    )
    mongo_client.drop_database(name)


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    with bind(Caller(desk.org_id)):
        yield desk


@asynccontextmanager
async def serving(settings: Settings, producer: Producer) -> AsyncIterator[tuple[App, Service]]:
    descriptor = reports_pb2.DESCRIPTOR.services_by_name["Reports"]
    async with (
        running(settings) as app,
        rpc.channel(app.grpc_address, TOKEN, services=[descriptor]) as channel,
    ):
        stub: Any = reports_pb2_grpc.ReportsStub(channel)  # type: ignore[no-untyped-call]
        yield app, Service(stub, producer, settings)


async def send(service: Service, records: list[Record]) -> None:
    """Publish records as they are, and have them acknowledged."""
    service.published.note(records, await service.producer.publish_records(records))


async def sees(service: Service, desk: Desk, executions: int) -> bool:
    return await service.executions(desk.app_id) == executions


async def letters(producer: Producer) -> list[Letter]:
    async with client(producer.bootstrap) as consumer:
        return [letter async for letter in letters_of(consumer, f"{EXECUTION_EVENTS}.dlq")]


def lives(desk: Desk, count: int) -> list[Event]:
    """Of passed runs, of one build and test."""
    build, test = (str(uuid4()), "1.0"), str(uuid4())
    return [told for _ in range(count) for told in desk.life(build, test, "passed")]


def run_event(desk: Desk, change: Callable[[executor.RunChanged], object] = lambda _: None) -> Event:
    message = executor.RunChanged.FromString(desk.life((str(uuid4()), "1.0"), str(uuid4()), "passed")[-1].payload)
    change(message)
    return event(EXECUTION_EVENTS, desk.app_id, message)


def record_of(told: Event, **changes: bytes | None) -> Record:
    """The event's record with other headers; None: without."""
    headers: Headers = [(name, value) for name, value in encode(told) if name not in changes]
    headers += [(name, value) for name, value in changes.items() if value is not None]
    return Record(told.topic, told.key.encode(), told.payload, headers)


def poison(desk: Desk) -> list[tuple[str, Record]]:
    """Each kind of it, with the reason that it is to be put away for."""
    good = run_event(desk)
    odd_values = [
        ("UNDECODABLE", b"\xff\x00\xfe" * 50),
        ("UNDECODABLE", good.payload[: len(good.payload) // 2]),
        ("UNDECODABLE", b"\xff" * ONE_MEGABYTE),
        ("INVALID_FIELD", b""),
        ("NO_VALUE", None),
    ]
    odd_headers: list[tuple[str, dict[str, bytes | None]]] = [
        ("MISSING_HEADER", {"ce_id": None}),
        ("MISSING_HEADER", {name: None for name, _ in encode(good)}),
        ("INVALID_UTF8", {"ce_source": b"\xff\xfe"}),
        ("INVALID_HEADER", {"ce_time": b"yesterday"}),
        ("INVALID_HEADER", {"ce_time": b"0001-01-01T00:00:00+14:00"}),
        ("INVALID_HEADER", {"ce_sequence": b"9" * 5000}),
        ("UNKNOWN_SPECVERSION", {"ce_specversion": b"7"}),
    ]
    odd_fields: list[Callable[[executor.RunChanged], object]] = [
        lambda message: setattr(message.run, "id", ""),
        lambda message: setattr(message.run, "id", "$where"),
        lambda message: setattr(message, "org_id", "a.b"),
        lambda message: setattr(message.run, "test_id", "x" * 1000),
        lambda message: setattr(message.run, "status", 99),
        lambda message: setattr(message.run, "execution_time_seconds", float("nan")),
        lambda message: setattr(message.run.completed_at, "seconds", 2**60),
    ]
    return [
        *((reason, replace(record_of(good), value=value)) for reason, value in odd_values),
        *((reason, record_of(good, **headers)) for reason, headers in odd_headers),
        *(("INVALID_FIELD", record_of(run_event(desk, change))) for change in odd_fields),
    ]


async def test_poison_of_every_kind_is_put_away_and_all_that_is_valid_shows(
    settings: Settings, producer: Producer, desk: Desk
) -> None:
    """All of it in one partition, in the midst of valid events."""
    bad = poison(desk)
    good = lives(desk, len(bad))
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
        found = await letters(producer)
        assert Counter(letter.reason for letter in found) == Counter(reason for reason, _ in bad)
        assert [letter.record.value for letter in found] == [record.value for _, record in bad]
        assert all(letter.message and letter.group == settings.consumer_group for letter in found)
    assert metrics.REGISTRY.get_sample_value("mobiletest_reporting_unknown_events_total") == skipped + 1


async def test_a_record_without_anything_does_not_hold_up_what_follows(
    settings: Settings, producer: Producer, desk: Desk
) -> None:
    async with serving(settings, producer) as (_, service):
        await send(service, [Record(EXECUTION_EVENTS, desk.app_id.encode(), None, [("ce_id", None)])])
        await service.publish(*lives(desk, 1))
        await service.applied()
        assert await service.executions(desk.app_id) == 1
    assert [letter.reason for letter in await letters(producer)] == ["NO_VALUE"]


async def test_a_thousand_invalid_messages_in_a_row_are_put_away_when_all_may_be(
    settings: Settings, producer: Producer, desk: Desk
) -> None:
    broken = replace(run_event(desk), payload=b"\xff\xff")
    await producer.publish([replace(broken, id=str(number)) for number in range(1000)])
    async with serving(settings.model_copy(update={"invalid_share": 1.0}), producer) as (_, service):
        await service.publish(*lives(desk, 1))
        await service.applied()
        assert await service.executions(desk.app_id) == 1
    assert len(await letters(producer)) == 1000


async def test_when_too_much_is_invalid_reporting_ends_and_nothing_is_lost(
    settings: Settings, producer: Producer, desk: Desk
) -> None:
    """Until somebody allows it: then what was in the way is put away, and what follows it shows."""
    broken = replace(run_event(desk), payload=b"\xff\xff")
    await producer.publish([replace(broken, id=str(number)) for number in range(200)])
    async with asyncio.timeout(60), serving(settings, producer) as (app, _):
        error = await app.background.death()
    assert isinstance(error, TooManyInvalid)
    assert f"of the newest 100 messages of {EXECUTION_EVENTS} are invalid" in str(error)
    assert await letters(producer) == []
    async with serving(settings.model_copy(update={"invalid_share": 1.0}), producer) as (_, service):
        await service.publish(*lives(desk, 1))
        await service.applied()
        assert await service.executions(desk.app_id) == 1
    assert len(await letters(producer)) == 200


async def test_what_an_older_version_could_not_read_is_replayed_to_one_that_can(
    settings: Settings, producer: Producer, desk: Desk
) -> None:
    told = lives(desk, 3)
    await producer.publish(told)
    await put_away_by_an_older_version(settings, producer, len(told))
    commands = CommandSettings(kafka_bootstrap=producer.bootstrap, kafka_idempotence=False)
    async with serving(settings, producer) as (_, service):
        await service.publish(*lives(desk, 1))
        await service.applied()
        assert await service.executions(desk.app_id) == 1
        await replayed(commands, parser().parse_args(["replay"]), print)
        await eventually(lambda: sees(service, desk, 4))
        await replayed(commands, parser().parse_args(["replay", "--again"]), print)
        await service.publish(*lives(desk, 1))
        await service.applied()
        assert await service.executions(desk.app_id) == 5


async def put_away_by_an_older_version(settings: Settings, producer: Producer, count: int) -> None:
    """A consumer of the same group that can read nothing."""

    async def refuse(events: list[Event]) -> list[InvalidMessage]:
        return [InvalidMessage("UNDECODABLE", "too new", event=each) for each in events]

    consumer = Consumer(
        [EXECUTION_EVENTS],
        settings.consumer_group,
        refuse,
        bootstrap=producer.bootstrap,
        instance_id=None,
        dlq=producer,
        session_seconds=2,
    )

    async def all_put_away() -> bool:
        return len(await letters(producer)) == count

    task = asyncio.create_task(consumer.run())
    await eventually(all_put_away)
    consumer.stop()
    await task
