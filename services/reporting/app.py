"""Reporting's composition root: the only place that constructs its adapters."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from mobiletest.reporting.v1 import reports_pb2, reports_pb2_grpc

from services.chassis import rpc
from services.chassis.clock import SystemClock
from services.chassis.consuming import Consumer
from services.chassis.dead_letters.limit import Tolerance
from services.chassis.health import AdminServer, Health
from services.chassis.kafka import Producer
from services.chassis.lifecycle import Background
from services.chassis.migrations import migrate
from services.chassis.mongo import Mongo
from services.reporting.consumer import CATALOG_EVENTS, EXECUTION_EVENTS, TOPICS, Intake
from services.reporting.servicer import ReportsServicer
from services.reporting.settings import Settings
from services.reporting.storage import MIGRATIONS, MongoCopiedTests, MongoFolds, MongoReadModels, MongoVerdicts
from services.reporting.usecases import AppReports, ClassifiedTests, Comparisons, Folding, Gates, Quarantines, RunLists

NEWS_MS = 100
"""How long a fetch waits for events: reports may be that much later, and a quiet broker is asked ten times a second."""


@dataclass(frozen=True, slots=True)
class App:
    """The running service."""

    grpc_address: str
    admin_address: str
    background: Background


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[App]:
    """Reporting, folding and serving inside of the block."""
    async with AsyncExitStack() as stack:
        background = await stack.enter_async_context(Background())
        health = Health()
        admin = await stack.enter_async_context(AdminServer(settings.admin_listen, health))
        mongo = await stack.enter_async_context(migrated(settings))
        health.register("mongodb", mongo.ping)
        producer = Producer(settings.kafka_bootstrap, TOPICS, idempotence=settings.kafka_idempotence)
        await stack.enter_async_context(producer)
        serving = rpc.server(settings, [_reports(mongo)], health=health)
        address = await stack.enter_async_context(serving)
        consumer = _consumer(settings, mongo, producer)
        health.register("consumer", consumer.check, affects="liveness")
        await stack.enter_async_context(background.running("consumer", consumer.run(), stop=consumer.stop))
        await stack.enter_async_context(health.serving(background))
        yield App(address, admin.address, background)


@asynccontextmanager
async def migrated(settings: Settings) -> AsyncIterator[Mongo]:
    """The read models' database with its schema up to date; waits for a MongoDB that is not there yet."""
    mongo = await Mongo.connect(settings.mongo_uri, settings.mongo_database, settings.mongo_driver)
    try:
        await migrate(mongo, MIGRATIONS)
        yield mongo
    finally:
        await mongo.close()


def _reports(mongo: Mongo) -> rpc.Servicer:
    read_models = MongoReadModels(mongo)
    tests, verdicts, clock = MongoCopiedTests(mongo), MongoVerdicts(mongo), SystemClock()
    servicer = ReportsServicer(
        AppReports(read_models, clock),
        RunLists(read_models),
        classified=ClassifiedTests(read_models, tests),
        quarantines=Quarantines(tests, clock),
        comparisons=Comparisons(read_models, verdicts, clock),
        gates=Gates(read_models, verdicts, clock),
    )
    descriptor = reports_pb2.DESCRIPTOR.services_by_name["Reports"]
    return reports_pb2_grpc.add_ReportsServicer_to_server, servicer, descriptor


def _consumer(settings: Settings, mongo: Mongo, dead_letters: Producer) -> Consumer:
    intake = Intake(Folding(MongoFolds(mongo), settings.rules))
    return Consumer(
        [EXECUTION_EVENTS, CATALOG_EVENTS],
        settings.consumer_group,
        intake.handle,
        bootstrap=settings.kafka_bootstrap,
        instance_id=f"{settings.instance}-reporting",
        dlq=dead_letters,
        session_seconds=settings.kafka_session_seconds,
        max_batch=settings.fold_batch,
        fetch_wait_ms=NEWS_MS,
        tolerance=Tolerance(settings.invalid_share, settings.invalid_window),
    )
