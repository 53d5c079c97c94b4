"""Reporting, running in this process on a real MongoDB and a real broker, with a group and a database of its own.

One service serves all tests of a process, since joining a consumer group takes a second. Each test has its own
organisation.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from mobiletest.reporting.v1 import reports_pb2, reports_pb2_grpc
from pydantic import SecretStr
from pymongo import MongoClient

from services.chassis import grpc_server
from services.chassis.context import ALL_SCOPES, Caller, bind
from services.chassis.events import Event
from services.chassis.lifecycle import GrpcApp
from services.chassis.migrations import open_migrated
from services.chassis.mongo import Driver, Mongo
from services.chassis.producer import Producer
from services.reporting.app import start_app
from services.reporting.consumer import TOPICS
from services.reporting.settings import Settings
from services.reporting.storage.schema import MIGRATIONS
from tests.callers import callers
from tests.fakes.reporting_event_log import EventLog
from tests.integration.reporting.rebuild_world import World
from tests.published_offsets import PublishedOffsets

TOKEN = "t" * 20


@dataclass(frozen=True)
class Service:
    """A running service: its stub, and a producer for its topics."""

    reports: Any
    producer: Producer
    settings: Settings
    published: PublishedOffsets = field(default_factory=PublishedOffsets)

    async def publish(self, *events: Event) -> None:
        """Publish, and have it acknowledged."""
        self.published.note(events, await self.producer.publish(events))

    async def applied(self) -> None:
        """Wait until everything published is in the read models."""
        await self.published.applied(self.settings.kafka_bootstrap, self.settings.consumer_group)

    async def executions(self, app_id: str) -> int:
        """The recent executions of an app of the caller's."""
        request = reports_pb2.BatchGetAppStatsRequest(app_ids=[app_id])
        response = await self.reports.BatchGetAppStats(request)
        return int(response.stats[0].recent_executions)


@pytest.fixture
async def mongo(mongo_uri: str, mongo_database: str) -> AsyncIterator[Mongo]:
    """A database of the test's own with empty read models."""
    async with open_migrated(mongo_uri, mongo_database, MIGRATIONS) as mongo:
        yield mongo


@pytest.fixture
async def world(mongo_uri: str, mongo_database: str, mongo_driver: Driver) -> AsyncIterator[World]:
    async with open_migrated(mongo_uri, mongo_database, MIGRATIONS, mongo_driver) as mongo:
        yield World(mongo)


@pytest.fixture
def desk() -> EventLog:
    return EventLog()


@pytest.fixture(autouse=True)
def caller(desk: EventLog) -> Iterator[Caller]:
    with bind(Caller(desk.org_id, scopes=ALL_SCOPES)) as caller:
        yield caller


@pytest.fixture(scope="session")
def settings(mongo_uri: str, kafka_bootstrap: str, mongo_client: MongoClient[dict[str, Any]]) -> Iterator[Settings]:
    name = f"test_{uuid4().hex}"
    yield Settings(
        service_token=SecretStr(TOKEN),
        callers=callers(TOKEN, "gateway", "operator"),
        mongo_uri=mongo_uri,
        mongo_database=name,
        kafka_bootstrap=kafka_bootstrap,
        kafka_idempotence=False,
        kafka_session_seconds=2,
        consumer_group=f"reporting-{uuid4()}",
        instance=str(uuid4()),
    )
    mongo_client.drop_database(name)


@asynccontextmanager
async def serving(settings: Settings, producer: Producer) -> AsyncIterator[tuple[GrpcApp, Service]]:
    """The service with these settings."""
    descriptor = reports_pb2.DESCRIPTOR.services_by_name["Reports"]
    async with (
        start_app(settings) as app,
        grpc_server.open_channel(app.grpc_address, TOKEN, services=[descriptor]) as channel,
    ):
        stub: Any = reports_pb2_grpc.ReportsStub(channel)  # type: ignore[no-untyped-call]
        yield app, Service(stub, producer, settings)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def service(settings: Settings) -> AsyncIterator[Service]:
    async with (
        Producer(settings.kafka_bootstrap, TOPICS, idempotence=False) as producer,
        serving(settings, producer) as (_, service),
    ):
        yield service
