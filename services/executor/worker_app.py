"""The composition root of the role `worker`."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from mobiletest_automation.devices.webdriver.sessions import WebDriverHubs, wait_for_unfinished
from mobiletest_automation.llm.chat_client import open_client
from mobiletest_automation.model.devices import Platform
from mobiletest_automation.scripting.http import SendHttp
from mobiletest_automation.scripting.http_client import ScriptHttp
from mobiletest_automation.web_addresses import AddressPolicy
from services.chassis import child_process, logs
from services.chassis.child_process import ChildLimits
from services.chassis.consumer import Consumer
from services.executor.events import RUN_REQUESTS
from services.executor.model.workers import WorkerReport
from services.executor.pools.pooled_devices import PooledDevices
from services.executor.ports.runs import Attempts, ReleasedRun
from services.executor.resources import Resources, track_sessions
from services.executor.storage.baselines import MongoBaselines
from services.executor.storage.change_notifier import MongoReleasedRuns
from services.executor.storage.live_steps import MongoLiveAttempts
from services.executor.storage.model_usage import MongoModelUsage
from services.executor.storage.past_bindings import MongoPastBindings
from services.executor.storage.retained_runs import MongoRetainedRuns
from services.executor.storage.screens import MongoScreens
from services.executor.storage.step_cache import MongoStepCache
from services.executor.storage.workers import MongoSlotLeases, MongoUncleanDevices, MongoWorkers
from services.executor.worker.artifact_uploader import ArtifactUploader
from services.executor.worker.attempts import AutomatedAttempts, Models
from services.executor.worker.binding_alarm import BindingAlarm
from services.executor.worker.build_provider import BuildHeadCache, BuildProvider
from services.executor.worker.claim_loop import ClaimLoop, ReleaseWatcher, RunRequestHandler
from services.executor.worker.file_cache import FileCache
from services.executor.worker.file_server import FileServer
from services.executor.worker.heartbeat import Heartbeat, LeaseRenewer
from services.executor.worker.human_channel import HumanChannel
from services.executor.worker.live_steps import LiveStepsWriter
from services.executor.worker.model_quota import DailyModelQuota
from services.executor.worker.processes.attempt_start import ATTEMPT_PROCESS, AttemptStart, LogFormat
from services.executor.worker.processes.pool import AttemptProcesses
from services.executor.worker.screen_store import WorkerScreens
from services.executor.worker.spool import ArtifactSpool
from services.executor.worker.variables import VariableReader
from services.executor.worker.worker import Worker

log = logs.get(__name__)

SETTLE_SECONDS = 1.0
STOP_SEARCH_SECONDS = 2.0
STOP_CONSUMER_SECONDS = 3.0
# For cleaning and closing the devices of the last runs.
CLOSE_SECONDS = 8.0
# Loads the script engine and the grammar, which attempts share.
PRELOADED = "mobiletest_automation.preloaded"
# Of the processes of attempts: below that of the worker, which renews their leases.
NICENESS = 10
# Bytes of what an attempt sends at once: as evidence, a page source of at most 64 MiB.
MESSAGE_LIMIT = 96 * 1024 * 1024
# How long a fetch waits for requests: a `ReleaseWatcher` is faster than a broker that answers late, and in a quiet time
# so is the search every second.
FETCH_WAIT_MS, QUIET_FETCH_WAIT_MS = 500, 2_000
# How many lifetimes of a run's lease a slot is leased for: so the session of a lost worker ends first.
SLOT_LEASE = 2


async def start_device_worker(shared: Resources) -> None:
    """Execute runs on the device pools that the settings name."""
    pools = await _open_pools(shared)
    attempts = await _automated_attempts(shared, pools)
    shared.stack.push_async_callback(attempts.close, CLOSE_SECONDS)
    worker = await start_worker(shared, attempts, pools)
    pools.on_change(worker.notify_free_slot)


async def start_worker(shared: Resources, attempts: Attempts, pools: PooledDevices | None = None) -> Worker:
    """Claim and execute runs until the stack closes; with `pools`, the worker reports itself and them.

    On shutdown the worker first stops claiming, then searching, then releases the runs that it holds.
    """
    stack, settings = shared.stack, shared.settings
    worker = Worker(
        shared.runs,
        attempts,
        name=settings.instance,
        slots=settings.executor_slots,
        can_execute=shared.catalog.is_reachable,
    )
    renewer = LeaseRenewer(shared.runs, worker, settings.limits, every=settings.poll_seconds)
    await shared.start("lease_renewer", renewer.run())
    shared.health.register("lease_renewer", renewer.check, affects="liveness")
    await shared.start("worker", worker.watch())
    await shared.start("durations", shared.transactions.durations.run())
    if pools is not None:
        await shared.start("heartbeat", _heartbeat(shared, worker, pools).run())
    stack.push_async_callback(wait_for_unfinished, SETTLE_SECONDS)
    stack.push_async_callback(worker.drain, settings.drain_seconds)
    claims = ClaimLoop(shared.runs, worker, every=settings.poll_seconds)
    await shared.start("search", claims.run(), stop=claims.stop, grace=STOP_SEARCH_SECONDS)
    consumers = {platform: await _consume_requests(shared, worker, claims, platform) for platform in worker.platforms}
    watcher = ReleaseWatcher(MongoReleasedRuns(shared.mongo), claims, partial(is_own, consumers))
    await shared.start("releases", watcher.run())
    stack.callback(worker.stop_claiming)
    return worker


def _heartbeat(shared: Resources, worker: Worker, pools: PooledDevices) -> Heartbeat:
    settings, worker_id = shared.settings, str(uuid4())

    def report() -> WorkerReport:
        return WorkerReport(
            id=worker_id,
            name=settings.instance,
            slots=settings.executor_slots,
            running=len(worker.active),
            stopping=worker.is_draining,
            pools=tuple(pools.reports()),
            has_models=settings.llm_endpoint is not None,
        )

    workers = MongoWorkers(shared.mongo, seconds=settings.lease_seconds)
    return Heartbeat(workers, report, every=settings.poll_seconds, renewal=settings.lease_seconds / 3)


def is_own(consumers: Mapping[Platform, Consumer], run: ReleasedRun) -> bool:
    """Whether the run's request will come to this worker, which may have no devices of its platform."""
    consumer = consumers.get(run.platform)
    return consumer is not None and consumer.owns_key(RUN_REQUESTS[run.platform], run.key.run_id)


async def _consume_requests(shared: Resources, worker: Worker, claims: ClaimLoop, platform: Platform) -> Consumer:
    settings, suffix = shared.settings, platform.lower()
    handler = RunRequestHandler(worker, claims, platform)
    consumer = Consumer(
        [RUN_REQUESTS[platform]],
        f"{settings.executor_group}-{suffix}",
        handler.handle,
        kafka=settings.kafka,
        instance_id=settings.group_instance_id(suffix),
        dlq=shared.producer,
        capacity=handler.capacity,
        session_seconds=settings.kafka_session_seconds,
        fetch_wait_ms=FETCH_WAIT_MS,
        quiet_fetch_wait_ms=QUIET_FETCH_WAIT_MS,
    )
    worker.on_free_slot(consumer.wake)
    shared.health.register(f"requests-{suffix}", consumer.check, affects="liveness")
    await shared.start(f"requests {platform}", consumer.run(), stop=consumer.stop, grace=STOP_CONSUMER_SECONDS)
    return consumer


async def _automated_attempts(shared: Resources, pools: PooledDevices) -> AutomatedAttempts:
    settings = shared.settings
    heads = BuildHeadCache(shared.catalog, settings.artifact_cache_bytes)
    return AutomatedAttempts(
        pools,
        await _open_processes(shared),
        BuildProvider(heads, _build_files(shared)),
        track_sessions(shared),
        await _start_uploader(shared),
        MongoBaselines(shared.mongo, shared.objects),
        variables=VariableReader(shared.catalog),
        step_seconds=settings.step_timeout_seconds,
        cpu=settings.attempt_limits.cpu,
        live=await _start_live_steps(shared),
        cache=MongoStepCache(shared.mongo, settings.step_cache_days),
        human_for=partial(HumanChannel, shared.runs, seconds=settings.human_timeout_seconds),
        models=await _open_models(shared),
        http_for=_script_http(shared),
        screens=WorkerScreens(MongoScreens(shared.mongo, shared.objects), shared.catalog.limits),
        binding_alarm=BindingAlarm(MongoPastBindings(shared.mongo)),
    )


async def _start_live_steps(shared: Resources) -> LiveStepsWriter:
    writer = LiveStepsWriter(MongoLiveAttempts(shared.mongo))
    await shared.start("live_steps", writer.run())
    return writer


def _script_http(shared: Resources) -> Callable[[str], SendHttp]:
    """What sends the HTTP requests of an attempt's scripts, by its organisation."""
    addresses = AddressPolicy.parse(shared.settings.allowed_addresses.split(","))
    return lambda org_id: ScriptHttp(partial(_script_hosts, shared, org_id), addresses).send


async def _script_hosts(shared: Resources, org_id: str) -> Sequence[str]:
    return (await shared.catalog.limits.get(org_id)).script_hosts


async def _start_uploader(shared: Resources) -> ArtifactUploader:
    settings = shared.settings
    spool = ArtifactSpool(settings.spool_folder, settings.artifact_spool_bytes)
    runs = MongoRetainedRuns(shared.transactions)
    uploader = ArtifactUploader(shared.objects, spool, runs, deadline=settings.artifact_spool_seconds)
    shared.stack.push_async_callback(uploader.flush)
    await shared.start("spool", uploader.run())
    return uploader


async def _open_pools(shared: Resources) -> PooledDevices:
    """Pools with health checks of their hubs; a hub that does not answer is not used at first."""
    settings, lease_seconds = shared.settings, SLOT_LEASE * shared.settings.lease_seconds
    path = Path(settings.device_pools) if settings.device_pools else None
    pools = PooledDevices.load(
        path,
        simulated=settings.simulated_devices,
        hubs=WebDriverHubs(MongoUncleanDevices(shared.mongo)),
        addresses=settings.allowed_addresses.split(","),
        files=await _open_file_server(shared),
        leases=MongoSlotLeases(shared.mongo, str(uuid4()), seconds=lease_seconds),
    )
    if not pools.platforms:
        log.warning(
            "no_device_pools",
            hint="name hubs in the file MOBILETEST_DEVICE_POOLS, or set MOBILETEST_SIMULATED_DEVICES to try out",
        )
    await pools.check()
    await shared.start("slots", pools.share_slots(renewal=lease_seconds / 3))
    await shared.start("hubs", pools.watch())
    return pools


async def _open_file_server(shared: Resources) -> FileServer | None:
    listen = shared.settings.executor_files_listen
    if listen is None:
        return None
    return await shared.stack.enter_async_context(FileServer(listen, shared.settings.executor_files_url))


def _build_files(shared: Resources) -> FileCache:
    """In the folder that the settings name, else in a temporary one."""
    settings = shared.settings
    if settings.executor_files_folder is not None:
        folder = Path(settings.executor_files_folder).absolute() / settings.instance
    else:
        folder = Path(shared.stack.enter_context(TemporaryDirectory(prefix="mobiletest-files-")))
    return FileCache(shared.catalog, folder, settings.executor_files_bytes)


async def _open_models(shared: Resources) -> Models | None:
    """The language models that the settings name; None without an endpoint."""
    endpoint = shared.settings.llm_endpoint
    if endpoint is None:
        return None
    client = await shared.stack.enter_async_context(open_client(endpoint))
    quota = DailyModelQuota(MongoModelUsage(shared.mongo), shared.catalog.limits)
    shared.stack.push_async_callback(quota.close)
    return Models(client, shared.settings.llm_budget, quota, (endpoint.key, shared.settings.service_token))


def preload_attempts() -> None:
    """Let the fork server import what attempts need; before it starts with the first child of any kind."""
    child_process.preload(ATTEMPT_PROCESS, PRELOADED)


async def _open_processes(shared: Resources) -> AttemptProcesses:
    settings = shared.settings
    limits = settings.attempt_limits
    start = partial(
        child_process.start_child,
        AttemptStart(LogFormat(settings.log_level, settings.log_format)),
        ChildLimits(memory_bytes=limits.memory_bytes, niceness=NICENESS),
        message_limit=MESSAGE_LIMIT,
    )
    processes = AttemptProcesses(start, limits, idle=settings.executor_slots)
    await shared.stack.enter_async_context(processes.open())
    await shared.start("attempt_processes", processes.warmed())
    return processes
