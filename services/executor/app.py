"""The executor's composition root: background jobs and the gRPC API (for the role `worker` see `worker_app`)."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from uuid import uuid4

from mobiletest.executor.v1 import (
    baselines_pb2_grpc,
    comments_pb2_grpc,
    executions_pb2_grpc,
    facts_pb2_grpc,
    limits_pb2_grpc,
    queue_pb2_grpc,
    screens_pb2_grpc,
    steps_pb2_grpc,
)

from services.chassis import grpc_server
from services.chassis.clock import SystemClock
from services.chassis.idempotency import Idempotency
from services.chassis.leases import MongoLease
from services.chassis.lifecycle import GrpcApp
from services.executor.artifacts import ObjectStoreArtifacts
from services.executor.comments_servicer import RunCommentsServicer
from services.executor.healing_pool import HealingPool
from services.executor.maintenance.deleted_tests import DeletedTests
from services.executor.maintenance.orphan_sessions import OrphanSweeper
from services.executor.maintenance.reaper import Reaper
from services.executor.maintenance.retention import Retention, RunRecount
from services.executor.maintenance.screen_retention import ScreenRetention
from services.executor.ports.runs import Attempts
from services.executor.queue_servicer import QueueServicer
from services.executor.resolver_pool import ResolverPool
from services.executor.resources import Resources, open_resources, track_sessions
from services.executor.screen_pool import ScreenPool
from services.executor.servicer import (
    BaselinesServicer,
    ExecutionFactsServicer,
    ExecutionsServicer,
    RunLimitsServicer,
    ScreensServicer,
    StepsServicer,
)
from services.executor.settings import Settings
from services.executor.storage.baselines import MongoBaselines
from services.executor.storage.change_notifier import ChangeNotifier, StepsNotifier
from services.executor.storage.executions import MongoExecutions, MongoWaitingRuns
from services.executor.storage.facts import MongoFacts
from services.executor.storage.model_usage import MongoModelUsage
from services.executor.storage.retained_runs import MongoRetainedRuns
from services.executor.storage.run_comments import MongoRunComments
from services.executor.storage.run_counts import MongoRunCounts
from services.executor.storage.screens import MongoScreens
from services.executor.storage.supersessions import MongoSupersessions
from services.executor.storage.workers import MongoWorkers
from services.executor.tree_reader import TreeReader
from services.executor.usecases.baselines import BaselineUseCases
from services.executor.usecases.build_screens import AppScreenUseCases
from services.executor.usecases.executions import ExecutionControl
from services.executor.usecases.held_contents import HeldContents
from services.executor.usecases.last_passes import LastPasses
from services.executor.usecases.organisation_limits import LimitUseCases
from services.executor.usecases.past_screens import PastScreens
from services.executor.usecases.queue import QueueUseCases
from services.executor.usecases.recheck import RecheckUseCases
from services.executor.usecases.run_comments import RunCommentUseCases
from services.executor.usecases.run_reports import RunReports
from services.executor.usecases.screens import ScreenUseCases
from services.executor.usecases.starts import ExecutionStarter, SupersessionSweep
from services.executor.usecases.step_proposals import HealingUseCases
from services.executor.usecases.videos import VideoUseCases
from services.executor.video_maker import VideoMaker

REAPER_LEASE_SECONDS = 3.0
RETENTION_LEASE_SECONDS = 120.0
DELETED_TESTS_LEASE_SECONDS = 120.0
RUN_RECOUNT_LEASE_SECONDS = 3600.0
ORPHANS_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class _Stores:
    """What the services of the API read and write."""

    executions: MongoExecutions
    screens: MongoScreens
    baselines: MongoBaselines
    artifacts: ObjectStoreArtifacts
    held: HeldContents


@dataclass(frozen=True, slots=True)
class _Children:
    """The child processes of the API."""

    trees: TreeReader
    screens: ScreenPool
    proposals: HealingPool
    resolver: ResolverPool


@asynccontextmanager
async def start_app(settings: Settings, *, attempts: Attempts | None = None) -> AsyncIterator[GrpcApp]:
    """Run the executor in the role that the settings name. `attempts` replaces the device pools (for tests)."""
    if settings.works and attempts is None:
        _worker().preload_attempts()
    async with AsyncExitStack() as stack:
        shared = await open_resources(settings, stack)
        await _start_maintenance(shared)
        address = await _serve(shared) if settings.serves else ""
        if settings.works and attempts is None:
            await _worker().start_device_worker(shared)
        elif settings.works and attempts is not None:
            await _worker().start_worker(shared, attempts)
        await stack.enter_async_context(shared.health.mark_ready(shared.background, watched=settings.serves))
        yield GrpcApp(address, shared.admin.address, shared.background)


def _worker() -> ModuleType:
    """The composition root of the other role, which takes 10 MiB in a process that does not have the role."""
    return import_module("services.executor.worker_app")


async def _start_maintenance(shared: Resources) -> None:
    """The background jobs of both roles. Leases choose the process that does each."""
    settings, runs = shared.settings, shared.runs
    lease = MongoLease(shared.mongo, "retention", str(uuid4()), seconds=RETENTION_LEASE_SECONDS)
    retained = MongoRetainedRuns(shared.transactions)
    retention = Retention(retained, shared.objects, lease, shared.catalog, days=settings.artifact_days)
    await shared.start("retention", retention.run())
    lease = MongoLease(shared.mongo, "screen_retention", str(uuid4()), seconds=RETENTION_LEASE_SECONDS)
    kept = MongoScreens(shared.mongo, shared.objects)
    screens = ScreenRetention(kept, lease, shared.catalog, shared.transactions.now, days=settings.screen_days)
    await shared.start("screen_retention", screens.run())
    orphans = OrphanSweeper(runs, track_sessions(shared), every=ORPHANS_SECONDS if settings.works else None)
    await shared.start("orphans", orphans.run())
    lease = MongoLease(shared.mongo, "reaper", str(uuid4()), seconds=REAPER_LEASE_SECONDS)
    workers = MongoWorkers(shared.mongo, seconds=settings.lease_seconds)
    reaper = Reaper(runs, workers, lease, settings.limits, every=settings.poll_seconds, on_reaped=orphans.wake)
    await shared.start("reaper", reaper.run())


async def _serve(shared: Resources) -> str:
    """Serve the gRPC API (role `api`); returns its address."""
    notifier = ChangeNotifier(shared.mongo)
    await shared.start("change_stream", notifier.run())
    await shared.start("steps_notifier", StepsNotifier(shared.mongo, notifier).run())
    sweep = SupersessionSweep(MongoSupersessions(shared.transactions))
    await shared.start("superseding", sweep.run())
    stores = _Stores(
        executions=MongoExecutions(shared.transactions, shared.outbox),
        screens=MongoScreens(shared.mongo, shared.objects),
        baselines=MongoBaselines(shared.mongo, shared.objects),
        artifacts=ObjectStoreArtifacts(shared.objects),
        held=HeldContents(),
    )
    lease = MongoLease(shared.mongo, "deleted_tests", str(uuid4()), seconds=DELETED_TESTS_LEASE_SECONDS)
    await shared.start("deleted_tests", DeletedTests(stores.baselines, shared.catalog, lease).run())
    lease = MongoLease(shared.mongo, "run_recount", str(uuid4()), seconds=RUN_RECOUNT_LEASE_SECONDS)
    await shared.start("run_recount", RunRecount(MongoRunCounts(shared.mongo), lease).run())
    children = _Children(TreeReader(), ScreenPool(), HealingPool(), ResolverPool())
    for pool in (children.trees, children.screens, children.proposals, children.resolver):
        shared.stack.push_async_callback(pool.close)
    # It starts the fork server, which imports what the pools have named until then.
    await shared.start("resolver_children", children.resolver.warm())
    servicers = _servicers(shared, notifier, stores, children)
    idempotency = Idempotency(shared.mongo)
    server = grpc_server.serve(
        shared.settings,
        servicers,
        health=shared.health,
        organisations=shared.catalog.organisations,
        page_turns=grpc_server.make_page_turns(),
        idempotency=idempotency,
    )
    address = await shared.stack.enter_async_context(server)
    shared.stack.callback(notifier.stop)
    return address


def _servicers(
    shared: Resources, notifier: ChangeNotifier, stores: _Stores, children: _Children
) -> list[grpc_server.Servicer]:
    """The services of the API."""
    control = ExecutionControl(stores.executions, notifier, stores.artifacts)
    baselines = BaselineUseCases(control, stores.baselines, shared.catalog.limits, shared.catalog)
    return [
        (
            executions_pb2_grpc.add_ExecutionsServicer_to_server,
            _executions(shared, stores, children, control, baselines),
            "mobiletest.executor.v1.Executions",
        ),
        (
            comments_pb2_grpc.add_RunCommentsServicer_to_server,
            RunCommentsServicer(RunCommentUseCases(MongoRunComments(shared.mongo), stores.executions.now)),
            "mobiletest.executor.v1.RunComments",
        ),
        (
            baselines_pb2_grpc.add_BaselinesServicer_to_server,
            BaselinesServicer(baselines),
            "mobiletest.executor.v1.Baselines",
        ),
        (
            screens_pb2_grpc.add_ScreensServicer_to_server,
            _screens(shared, stores, children),
            "mobiletest.executor.v1.Screens",
        ),
        (
            steps_pb2_grpc.add_StepsServicer_to_server,
            _steps(shared, stores, children),
            "mobiletest.executor.v1.Steps",
        ),
        (
            facts_pb2_grpc.add_ExecutionFactsServicer_to_server,
            ExecutionFactsServicer(MongoFacts(shared.mongo)),
            "mobiletest.executor.v1.ExecutionFacts",
        ),
        (
            limits_pb2_grpc.add_RunLimitsServicer_to_server,
            RunLimitsServicer(_limits(shared, stores)),
            "mobiletest.executor.v1.RunLimits",
        ),
        (
            queue_pb2_grpc.add_QueueServicer_to_server,
            QueueServicer(_queue(shared, stores.executions)),
            "mobiletest.executor.v1.Queue",
        ),
    ]


def _executions(
    shared: Resources,
    stores: _Stores,
    children: _Children,
    control: ExecutionControl,
    baselines: BaselineUseCases,
) -> ExecutionsServicer:
    starter = ExecutionStarter(shared.catalog, stores.executions)
    past = PastScreens(stores.executions, stores.screens)
    return ExecutionsServicer(
        starter,
        control,
        baselines,
        healing=HealingUseCases(stores.executions, past, children.proposals, starter),
        reports=RunReports(stores.executions, stores.screens, stores.artifacts, stores.held),
        videos=VideoUseCases(control, stores.screens, VideoMaker(), stores.held),
    )


def _limits(shared: Resources, stores: _Stores) -> LimitUseCases:
    return LimitUseCases(
        stores.executions,
        stores.baselines,
        shared.catalog.limits,
        ledger=MongoModelUsage(shared.mongo),
        evidence=MongoRetainedRuns(shared.transactions),
        screens=stores.screens,
        workers=MongoWorkers(shared.mongo, seconds=shared.settings.lease_seconds),
        clock=SystemClock(),
    )


def _steps(shared: Resources, stores: _Stores, children: _Children) -> StepsServicer:
    workers = MongoWorkers(shared.mongo, seconds=shared.settings.lease_seconds)
    past = PastScreens(stores.executions, stores.screens)
    rechecks = RecheckUseCases(shared.catalog, past, children.trees, workers)
    return StepsServicer(children.resolver, rechecks)


def _screens(shared: Resources, stores: _Stores, children: _Children) -> ScreensServicer:
    builds = AppScreenUseCases(stores.executions, stores.screens, children.screens)
    shared.stack.push_async_callback(builds.close)
    last_passes = LastPasses(stores.executions, stores.screens, children.screens)
    kept = ScreenUseCases(stores.screens, children.trees, stores.held)
    return ScreensServicer(kept, builds, last_passes)


def _queue(shared: Resources, executions: MongoExecutions) -> QueueUseCases:
    workers = MongoWorkers(shared.mongo, seconds=shared.settings.lease_seconds)
    return QueueUseCases(executions, MongoWaitingRuns(shared.mongo), workers, shared.catalog.limits)
