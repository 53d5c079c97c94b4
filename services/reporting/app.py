"""Reporting's composition root: the only place that constructs its adapters."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from uuid import uuid4

from mobiletest.catalog.v1 import limits_pb2, limits_pb2_grpc
from mobiletest.reporting.v1 import operations_pb2_grpc, reports_pb2_grpc

from services.chassis import grpc_server
from services.chassis.clock import SystemClock
from services.chassis.consumer import Consumer
from services.chassis.consumer_lag import GroupProgress
from services.chassis.consumer_thread import ConsumerThread
from services.chassis.dead_letters.limit import DlqLimit
from services.chassis.health import AdminServer, Health
from services.chassis.leases import MongoLease
from services.chassis.lifecycle import Background, GrpcApp
from services.chassis.migrations import open_migrated
from services.chassis.mongo import Mongo
from services.chassis.producer import Producer
from services.chassis.request_interceptor import KnownOrganisations
from services.reporting.consumer import CATALOG_EVENTS, EXECUTION_EVENTS, TOPICS, EventHandler
from services.reporting.rebuild.facts import CATALOG_SERVICES, EXECUTOR_SERVICES, RemoteFactHistory
from services.reporting.rebuild.job import RebuildJob, RebuildTimings
from services.reporting.rebuild.operations_servicer import OperationsServicer, export_metrics
from services.reporting.rebuild.store import MongoRebuildStore, newest_state
from services.reporting.servicer import DeadlineGuard, ReportsServicer
from services.reporting.settings import Settings
from services.reporting.storage.expirable_runs import MongoExpirableRuns
from services.reporting.storage.failures import MongoFailures
from services.reporting.storage.health_summaries import MongoHealthSummaries
from services.reporting.storage.projections import MongoProjections
from services.reporting.storage.read_models import MongoCatalogTests, MongoReadModels
from services.reporting.storage.schema import MIGRATIONS
from services.reporting.storage.verdicts import MongoVerdicts
from services.reporting.usecases.projector import Projector
from services.reporting.usecases.report_sources import ReportSources
from services.reporting.usecases.retention import RetentionSweeper

OPERATION_LEASE_SECONDS = 15.0
CATALOG_SECONDS = 2.0
# How long a fetch waits for events: Tansu may answer half of that late.
FETCH_WAIT_MS = 100
# The same while no events come, so that it delays the first of them.
QUIET_FETCH_WAIT_MS = 400
RETENTION_LEASE_SECONDS = 120.0


@asynccontextmanager
async def start_app(settings: Settings) -> AsyncIterator[GrpcApp]:
    """Reporting, consuming events and serving inside the block."""
    async with AsyncExitStack() as stack:
        background = await stack.enter_async_context(Background())
        health = Health()
        admin = await stack.enter_async_context(AdminServer(settings.admin_listen, health))
        mongo = await stack.enter_async_context(open_database(settings))
        health.register("mongodb", mongo.ping)
        new_job = await stack.enter_async_context(open_rebuild_jobs(settings, mongo))
        await stack.enter_async_context(background.run("operation", export_metrics(lambda: newest_state(mongo))))
        organisations = await stack.enter_async_context(_open_organisations(settings))
        servicers = [_reports(mongo), _operations(new_job)]
        serving = grpc_server.serve(settings, servicers, health=health, organisations=organisations, page_turns=None)
        address = await stack.enter_async_context(serving)
        consumer = ConsumerThread(lambda: _open_consumer(settings))
        health.register("consumer", consumer.check, affects="liveness")
        await stack.enter_async_context(background.run("consumer", consumer.run(), stop=consumer.stop))
        if settings.retention:
            await stack.enter_async_context(background.run("expiring", _retention_sweeper(settings, mongo).run()))
        await stack.enter_async_context(health.mark_ready(background))
        yield GrpcApp(address, admin.address, background)


def open_database(settings: Settings) -> AbstractAsyncContextManager[Mongo]:
    """The read models' database with its schema migrated; waits until MongoDB is reachable."""
    return open_migrated(settings.mongo_uri, settings.mongo_database, MIGRATIONS, settings.mongo_driver)


@asynccontextmanager
async def open_rebuild_jobs(settings: Settings, mongo: Mongo) -> AsyncIterator[Callable[[], RebuildJob]]:
    """A factory of jobs that verify or rebuild the read models."""
    token, tls = settings.token, settings.tls
    async with (
        grpc_server.open_channel(settings.catalog_address, token, services=CATALOG_SERVICES, tls=tls) as to_catalog,
        grpc_server.open_channel(settings.executor_address, token, services=EXECUTOR_SERVICES, tls=tls) as to_executor,
    ):
        history = RemoteFactHistory(to_catalog, to_executor)
        consumers = GroupProgress(settings.kafka, settings.consumer_group, [EXECUTION_EVENTS, CATALOG_EVENTS])
        timings = RebuildTimings(drop=settings.generation_drop_seconds)

        def new_job() -> RebuildJob:
            lease = MongoLease(mongo, "operation", str(uuid4()), seconds=OPERATION_LEASE_SECONDS)
            return RebuildJob(history, MongoRebuildStore(mongo, settings.rules), consumers, lease, timings)

        yield new_job


@asynccontextmanager
async def _open_organisations(settings: Settings) -> AsyncIterator[KnownOrganisations]:
    """The organisations of the catalog, which only callers other than the gateway wait for."""
    services = [limits_pb2.DESCRIPTOR.services_by_name["Limits"]]
    opened = grpc_server.open_channel(settings.catalog_address, settings.token, services=services, tls=settings.tls)
    async with opened as channel:
        stub = limits_pb2_grpc.LimitsStub(channel)  # type: ignore[no-untyped-call]
        request = limits_pb2.GetOrganisationLimitsRequest()
        yield KnownOrganisations(lambda: stub.GetOrganisationLimits(request, timeout=CATALOG_SECONDS))


def _operations(new_job: Callable[[], RebuildJob]) -> grpc_server.Servicer:
    name = "mobiletest.reporting.v1.Operations"
    return operations_pb2_grpc.add_OperationsServicer_to_server, OperationsServicer(new_job), name


def _reports(mongo: Mongo) -> grpc_server.Servicer:
    lookups = MongoReadModels(mongo), MongoCatalogTests(mongo), MongoVerdicts(mongo), MongoFailures(mongo)
    sources = ReportSources(*lookups, SystemClock(), summaries=MongoHealthSummaries(mongo))
    name = "mobiletest.reporting.v1.Reports"
    return reports_pb2_grpc.add_ReportsServicer_to_server, DeadlineGuard(ReportsServicer(sources)), name


def _retention_sweeper(settings: Settings, mongo: Mongo) -> RetentionSweeper:
    lease = MongoLease(mongo, "expiring", str(uuid4()), seconds=RETENTION_LEASE_SECONDS)
    return RetentionSweeper(
        MongoExpirableRuns(mongo), MongoProjections(mongo), lease, limits=settings.retention, clock=SystemClock()
    )


@asynccontextmanager
async def _open_consumer(settings: Settings) -> AsyncIterator[Consumer]:
    """The consumer with connections of its own, as its thread needs them."""
    mongo = Mongo.unconnected(settings.mongo_uri, settings.mongo_database, settings.mongo_driver)
    try:
        async with Producer(settings.kafka, TOPICS, idempotence=settings.kafka_idempotence) as dead_letters:
            yield _consumer(settings, mongo, dead_letters)
    finally:
        await mongo.close()


def _consumer(settings: Settings, mongo: Mongo, dead_letters: Producer) -> Consumer:
    projector = Projector(MongoProjections(mongo), settings.rules)
    return Consumer(
        [EXECUTION_EVENTS, CATALOG_EVENTS],
        settings.consumer_group,
        EventHandler(projector).handle,
        kafka=settings.kafka,
        instance_id=settings.group_instance_id("reporting"),
        dlq=dead_letters,
        session_seconds=settings.kafka_session_seconds,
        capacity=projector.capacity,
        max_batch=settings.fold_batch,
        fetch_wait_ms=FETCH_WAIT_MS,
        quiet_fetch_wait_ms=QUIET_FETCH_WAIT_MS,
        dlq_limit=DlqLimit(settings.invalid_share, settings.invalid_window),
    )
