"""The composition root: the only place where the executor's parts are made and put together."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from mobiletest.executor.v1 import (
    executions_pb2,
    executions_pb2_grpc,
    facts_pb2,
    facts_pb2_grpc,
    steps_pb2,
    steps_pb2_grpc,
)
from pydantic import SecretStr

from services.chassis import grpc_server
from services.chassis.consumer import Consumer
from services.chassis.health import AdminServer, Health
from services.chassis.idempotency import Idempotency
from services.chassis.leases import Lease
from services.chassis.lifecycle import Background
from services.chassis.migrations import migrate
from services.chassis.mongo import Mongo
from services.chassis.object_store import ObjectStore
from services.chassis.outbox import Outbox
from services.chassis.outbox_relay import OutboxRelay
from services.chassis.producer import Producer
from services.executor.artifacts import ObjectStoreArtifacts
from services.executor.automation.devices.pools.pooled_devices import PooledDevices
from services.executor.automation.devices.webdriver.sessions import delete_session, wait_for_unfinished
from services.executor.automation.llm.chat_client import open_client
from services.executor.automation.llm.language_models import LanguageModels
from services.executor.automation.ports import ModelProvider
from services.executor.automation.step_cache.cache import StoredStepCache
from services.executor.catalog import RemoteCatalog, open_catalog_channel
from services.executor.events import RUN_REQUESTS, topics
from services.executor.maintenance.orphan_sessions import OrphanSweeper
from services.executor.maintenance.reaper import Reaper
from services.executor.maintenance.retention import Retention
from services.executor.model.runs import Platform
from services.executor.ports.attempts import Attempts
from services.executor.ports.executions import Catalog
from services.executor.ports.runs import Runs
from services.executor.servicer.executions import ExecutionsServicer
from services.executor.servicer.facts import ExecutionFactsServicer
from services.executor.servicer.steps import StepsServicer
from services.executor.settings import Settings
from services.executor.storage.change_notifier import ChangeNotifier
from services.executor.storage.executions import MongoExecutions
from services.executor.storage.facts import MongoFacts
from services.executor.storage.retained_runs import MongoRetainedRuns
from services.executor.storage.runs import MongoRuns
from services.executor.storage.schema import MIGRATIONS
from services.executor.storage.step_cache import MongoStepCache
from services.executor.storage.supersessions import MongoSupersessions
from services.executor.storage.transactions import ExecutionTransactions
from services.executor.usecases.executions import ExecutionAnswers, ExecutionControl
from services.executor.usecases.reruns import ExecutionRerunner
from services.executor.usecases.starts import ExecutionStarter
from services.executor.usecases.step_resolver import StepResolver
from services.executor.usecases.supersession import SupersessionSweep
from services.executor.worker.artifact_uploader import ArtifactUploader
from services.executor.worker.attempts import AutomatedAttempts
from services.executor.worker.build_files import BuildFileCache
from services.executor.worker.build_heads import BuildHeadCache
from services.executor.worker.build_provider import BuildProvider
from services.executor.worker.claim_loop import ClaimLoop, RunRequestHandler
from services.executor.worker.file_server import FileServer
from services.executor.worker.human_channel import HumanChannel
from services.executor.worker.lease_renewer import LeaseRenewer
from services.executor.worker.session_tracker import SessionTracker
from services.executor.worker.spool import Spool
from services.executor.worker.worker import Worker

SOURCE = "mobiletest.executor"
REAPER_LEASE_SECONDS = 3.0
RETENTION_LEASE_SECONDS = 120.0
SETTLE_SECONDS = 1.0
STOP_SEARCH_SECONDS = 2.0
ORPHANS_SECONDS = 5.0


@dataclass(frozen=True)
class App:
    """A running executor; `grpc_address` is empty in the role `worker`."""

    grpc_address: str
    admin_address: str
    background: Background


@asynccontextmanager
async def start_app(settings: Settings, *, attempts: Attempts | None = None) -> AsyncIterator[App]:
    """Run the executor in the role that the settings name. `attempts` replaces the device pools (for tests)."""
    async with AsyncExitStack() as stack:
        parts = _Parts(settings, stack)
        await parts.open()
        address = await parts.serve() if settings.serves else ""
        if settings.works:
            await parts.work(attempts or await parts.attempts())
        await stack.enter_async_context(parts.health.mark_ready(parts.background))
        yield App(address, parts.admin.address, parts.background)


class _Parts:
    """What both roles share, opened once; everything closes with the stack, last opened first."""

    background: Background
    health: Health
    admin: AdminServer
    mongo: Mongo
    producer: Producer
    outbox: Outbox
    ledger: ExecutionTransactions
    runs: Runs
    catalog: Catalog
    objects: ObjectStore
    kept: MongoRetainedRuns
    artifacts: ArtifactUploader
    sessions: SessionTracker
    pools: PooledDevices | None = None

    def __init__(self, settings: Settings, stack: AsyncExitStack) -> None:
        self._settings = settings
        self._stack = stack

    async def open(self) -> None:
        settings, enter = self._settings, self._stack.enter_async_context
        self.background = await enter(Background())
        self.health = Health()
        self.admin = await enter(AdminServer(settings.admin_listen, self.health))
        self.mongo = await Mongo.connect(settings.mongo_uri, settings.executor_database, settings.mongo_driver)
        self._stack.push_async_callback(self.mongo.close)
        self.health.register("mongodb", self.mongo.ping)
        await migrate(self.mongo, MIGRATIONS)
        self.producer = await enter(
            Producer(
                settings.kafka_bootstrap,
                topics(settings.run_request_partitions),
                idempotence=settings.kafka_idempotence,
            )
        )
        self.outbox = Outbox(self.mongo, SOURCE)
        relay = OutboxRelay(self.mongo, self.outbox, self.producer)
        await enter(self.background.run("relay", relay.run()))
        self.ledger = ExecutionTransactions(self.mongo, self.outbox, settings.limits)
        self.runs = MongoRuns(self.ledger)
        self.catalog = RemoteCatalog(await enter(open_catalog_channel(settings.catalog_address, settings.tokens[0])))
        self.objects = ObjectStore.open(settings.object_store)
        self.kept = MongoRetainedRuns(self.ledger)
        spool = Spool(settings.spool_folder, settings.artifact_spool_bytes)
        deadline = settings.artifact_spool_seconds
        self.artifacts = ArtifactUploader(self.objects, spool, self.kept, deadline=deadline)
        if settings.artifact_days:
            retaining = Lease(self.mongo, "retention", str(uuid4()), seconds=RETENTION_LEASE_SECONDS)
            retention = Retention(self.kept, self.objects, retaining, days=settings.artifact_days)
            await enter(self.background.run("retention", retention.run()))
        self.sessions = SessionTracker(self.runs, delete_session)
        orphans = OrphanSweeper(self.runs, self.sessions, every=ORPHANS_SECONDS if settings.works else None)
        await enter(self.background.run("orphans", orphans.run()))
        turn = self._reaper_lease()
        reaper = Reaper(self.runs, turn, settings.limits, every=settings.poll_seconds, on_reaped=orphans.wake)
        await enter(self.background.run("reaper", reaper.run()))

    def _reaper_lease(self) -> Lease:
        return Lease(self.mongo, "reaper", str(uuid4()), seconds=REAPER_LEASE_SECONDS)

    async def serve(self) -> str:
        """The role `api`; gives the address."""
        executions = MongoExecutions(self.ledger, self.outbox)
        bells = ChangeNotifier(self.mongo)
        await self._stack.enter_async_context(self.background.run("change_stream", bells.run()))
        sweep = SupersessionSweep(MongoSupersessions(self.ledger))
        await self._stack.enter_async_context(self.background.run("superseding", sweep.run()))
        starts = ExecutionStarter(self.catalog, executions)
        servicer = ExecutionsServicer(
            starts,
            ExecutionRerunner(executions, starts),
            ExecutionControl(executions, bells, ObjectStoreArtifacts(self.objects)),
            ExecutionAnswers(executions),
        )
        descriptor = executions_pb2.DESCRIPTOR.services_by_name["Executions"]
        service = (executions_pb2_grpc.add_ExecutionsServicer_to_server, servicer, descriptor)
        known = steps_pb2.DESCRIPTOR.services_by_name["Steps"]
        steps = (steps_pb2_grpc.add_StepsServicer_to_server, StepsServicer(StepResolver()), known)
        told = facts_pb2.DESCRIPTOR.services_by_name["ExecutionFacts"]
        exported = ExecutionFactsServicer(MongoFacts(self.mongo))
        facts = (facts_pb2_grpc.add_ExecutionFactsServicer_to_server, exported, told)
        address = await self._stack.enter_async_context(
            grpc_server.serve(
                self._settings, [service, steps, facts], health=self.health, idempotency=Idempotency(self.mongo)
            )
        )
        self._stack.callback(bells.stop)
        return address

    async def work(self, attempts: Attempts) -> None:
        """The role `worker`. It stops claiming, then looking for runs, then lets go of those that it holds."""
        settings, enter = self._settings, self._stack.enter_async_context
        self._stack.push_async_callback(self.artifacts.flush)
        await enter(self.background.run("spool", self.artifacts.run()))
        worker = Worker(self.runs, attempts, name=settings.instance, slots=settings.executor_slots)
        keeper = LeaseRenewer(self.runs, worker, settings.limits, every=settings.poll_seconds)
        await enter(self.background.run("keeper", keeper.run()))
        self.health.register("keeper", keeper.check, affects="liveness")
        await enter(self.background.run("worker", worker.watch()))
        await enter(self.background.run("durations", self.ledger.durations.run()))
        self._stack.push_async_callback(wait_for_unfinished, SETTLE_SECONDS)
        self._stack.push_async_callback(worker.drain, settings.drain_seconds)
        search = ClaimLoop(self.runs, worker, every=settings.poll_seconds)
        await enter(self.background.run("search", search.run(), stop=search.stop, grace=STOP_SEARCH_SECONDS))
        for platform in worker.platforms:
            await self._consume(worker, search, platform)
        if self.pools is not None:
            self.pools.on_change(worker.notify_free_slot)
        self._stack.callback(worker.stop_claiming)

    async def attempts(self) -> Attempts:
        """Attempts on the device pools that the settings name."""
        settings = self._settings
        pools = await self._open_pools()
        builds = BuildProvider(BuildHeadCache(self.catalog, settings.artifact_cache_bytes), self._app_files())
        cache = StoredStepCache(MongoStepCache(self.mongo, settings.step_cache_days))
        people = partial(HumanChannel, self.runs, seconds=settings.human_timeout_seconds)
        return AutomatedAttempts(
            pools,
            builds,
            self.sessions,
            self.artifacts,
            step_seconds=settings.step_timeout_seconds,
            cache=cache,
            human_for=people,
            model=await self.model(),
        )

    async def _open_pools(self) -> PooledDevices:
        """Pools whose hubs are watched; those that do not answer rest from the start."""
        named = self._settings.device_pools
        self.pools = PooledDevices.load(Path(named) if named else None, files=await self._file_server())
        await self.pools.check()
        await self._stack.enter_async_context(self.background.run("hubs", self.pools.watch()))
        return self.pools

    async def _file_server(self) -> FileServer | None:
        listen = self._settings.executor_files_listen
        if listen is None:
            return None
        return await self._stack.enter_async_context(FileServer(listen, self._settings.executor_files_url))

    def _app_files(self) -> BuildFileCache:
        """On disk for good where the settings name a folder, else as long as this process."""
        settings = self._settings
        if settings.executor_files_folder is not None:
            folder = Path(settings.executor_files_folder).absolute() / settings.instance
        else:
            folder = Path(self._stack.enter_context(TemporaryDirectory(prefix="mobiletest-files-")))
        return BuildFileCache(self.catalog, folder, settings.executor_files_bytes)

    async def model(self) -> ModelProvider | None:
        """The language models that the settings name; none without an endpoint."""
        endpoint = self._settings.llm_endpoint
        if endpoint is None:
            return None
        client = await self._stack.enter_async_context(open_client(endpoint))
        return LanguageModels(client, self._settings.llm_budget, (*map(SecretStr, self._settings.tokens),))

    async def _consume(self, worker: Worker, search: ClaimLoop, platform: Platform) -> None:
        requests = RunRequestHandler(self.runs, worker, search, platform)
        consumer = Consumer(
            [RUN_REQUESTS[platform]],
            f"{self._settings.executor_group}-{platform.lower()}",
            requests.handle,
            bootstrap=self._settings.kafka_bootstrap,
            instance_id=f"{self._settings.instance}-{platform.lower()}",
            dlq=self.producer,
            capacity=requests.capacity,
            session_seconds=self._settings.kafka_session_seconds,
        )
        worker.on_free_slot(consumer.wake)
        self.health.register(f"requests-{platform.lower()}", consumer.check, affects="liveness")
        consuming = self.background.run(f"requests {platform}", consumer.run(), stop=consumer.stop, grace=3.0)
        await self._stack.enter_async_context(consuming)
