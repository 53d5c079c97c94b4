"""The engine without tests: runs a second of workers that do nothing, and the time from a start to its claim.

`python -m benchmarks.engine goals` measures what `make bench` shows; `python -m benchmarks.engine [rounds]` prints the
figures of one and of two workers; `python -m benchmarks.engine [rounds] attempts`
those of workers whose attempts log in to the built-in app on simulated devices. To compare with another tree copy this
file and zero_work.py there and run both in turns on the same machine.
"""

import asyncio
import os
import random
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from statistics import median, quantiles
from time import monotonic
from typing import Any
from uuid import uuid4

import uvloop
from grpc import aio

from benchmarks.goals import Goal, show
from deploy.local.broker import broker
from deploy.local.child import Child, ChildSpec
from deploy.local.mongod import mongod
from deploy.local.stack import run_stack
from mobiletest_automation.model.devices import Platform
from mobiletest_automation.model.run_config import RunConfig
from services.chassis.context import Caller, bind
from services.chassis.lifecycle import Background
from services.chassis.migrations import open_migrated
from services.chassis.mongo import Mongo
from services.chassis.outbox import Outbox
from services.chassis.outbox_relay import OutboxRelay
from services.chassis.producer import Producer
from services.executor.events import topics
from services.executor.model.executions import BuildConfig, ExecutionKind, StartSubject
from services.executor.model.organisation_limits import UNLIMITED, OrganisationLimits
from services.executor.model.runs import ResolvedRuns, RunLimits, RunPlan, RunTarget
from services.executor.storage.executions import MongoExecutions
from services.executor.storage.migrations import MIGRATIONS
from services.executor.storage.transactions import ExecutionTransactions
from services.executor.usecases.starts import ExecutionStarter, StartRequest

BACKLOG = 3000
SINGLE = 150
PARTITIONS = 4
ZERO_WORK = "benchmarks.zero_work"
SLOTS = 32
PAUSE_SECONDS = 0.05
SETTLE_SECONDS = 15.0
IDLE_SECONDS = 40.0
# The default: a member of a group sends a heartbeat every 3 s, in a local stack, which restarts often, every 0.5 s.
SESSION_OF_PRODUCTION = {"MOBILETEST_KAFKA_SESSION_SECONDS": "30"}


class OneTest:
    """The port `Catalog`: every workflow is one test on Android."""

    steps: tuple[object, ...] = (
        'Type "ada@example.com" into the Email field',
        'Type "lovelace" into the Password field',
        'Tap "Log in"',
        'Assert that "Blue mug" is visible',
        'Tap "Red mug"',
        {"assertVisible": "\\$14"},
        {"tapOn": {"id": "back"}},
        {"assertNotVisible": "\\$14"},
    )

    async def resolve(self, subject: StartSubject, build_config: BuildConfig, **_: Any) -> ResolvedRuns:
        target = RunTarget(str(uuid4()), "Log in", 1, Platform.ANDROID, str(uuid4()), "Shop", str(uuid4()), "1.0")
        plan = RunPlan(target=target, steps=self.steps)
        return ResolvedRuns(workflow_id=subject.id, workflow_name="Nightly", plans=(plan,))

    async def organisation_limits(self) -> OrganisationLimits:
        return UNLIMITED

    async def artifact(self, org_id: str, build_id: str, limit: int) -> bytes:
        return b""

    async def download(self, org_id: str, build_id: str) -> AsyncIterator[bytes]:
        yield b""

    async def download_test_file(self, org_id: str, sha256: str) -> AsyncIterator[bytes]:
        yield b""


@dataclass(frozen=True)
class Bench:
    """An executor's database and a broker, and what starts executions there."""

    mongo: Mongo
    env: dict[str, str]
    starts: ExecutionStarter
    folder: Path
    worker_module: str

    async def start(self, org_id: str) -> str:
        wanted = StartRequest(
            subject=StartSubject(ExecutionKind.WORKFLOW, str(uuid4())),
            run_config=RunConfig(),
            build_config=BuildConfig(),
        )
        with bind(Caller(org_id=org_id, via_gateway=True)):
            return (await self.starts.start(wanted)).id

    @asynccontextmanager
    async def workers(self, number: int) -> AsyncIterator[list[Child]]:
        """Worker processes, killed at the end."""
        children = [self._worker(f"worker-{index}") for index in range(number)]
        for child in children:
            child.start()
        try:
            yield children
        finally:
            for child in children:
                await child.kill()

    def _worker(self, name: str) -> Child:
        argv = [sys.executable, "-m", self.worker_module]
        env = {**self.env, "MOBILETEST_INSTANCE": name}
        return Child(ChildSpec(name, argv, self.folder / f"{name}.log", env))

    async def clear(self) -> None:
        for name in ("executions", "runs", "plans", "steps"):
            await self.mongo.collection(name).delete_many({})


@asynccontextmanager
async def bench(folder: Path, worker_module: str) -> AsyncIterator[Bench]:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(mongod(folder / "mongod"))
        kafka = await stack.enter_async_context(broker(folder / "broker.log"))
        catalog = await stack.enter_async_context(empty_catalog())
        mongo = await stack.enter_async_context(open_migrated(server.uri, "engine", MIGRATIONS))
        producer = await stack.enter_async_context(Producer(kafka.bootstrap, topics(PARTITIONS), idempotence=False))
        outbox = Outbox(mongo, "benchmark")
        background = await stack.enter_async_context(Background())
        await stack.enter_async_context(background.run("relay", OutboxRelay(mongo, outbox, producer).run()))
        starts = ExecutionStarter(OneTest(), MongoExecutions(ExecutionTransactions(mongo, outbox, RunLimits()), outbox))
        yield Bench(mongo, _env(server.uri, kafka.bootstrap, catalog), starts, folder, worker_module)


@asynccontextmanager
async def empty_catalog() -> AsyncIterator[str]:
    """The address of a server without methods: workers claim nothing while they cannot reach the catalog."""
    server = aio.server()
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)


def _env(mongo: str, kafka: str, catalog: str) -> dict[str, str]:
    values = {
        "EXECUTOR_ROLE": "worker",
        "SERVICE_TOKEN": "t" * 20,
        "MONGO_URI": mongo,
        "EXECUTOR_DATABASE": "engine",
        "KAFKA_BOOTSTRAP": kafka,
        "CATALOG_ADDRESS": catalog,
        "KAFKA_IDEMPOTENCE": "false",
        "KAFKA_SESSION_SECONDS": "2",
        "RUN_REQUEST_PARTITIONS": str(PARTITIONS),
        "EXECUTOR_SLOTS": str(SLOTS),
        "OBJECT_STORE": "memory://",
        "LOG_LEVEL": "warning",
        "DEVICE_POOLS": str(Path(__file__).with_name("pools.yaml")),
        "SIMULATED_DEVICES": "true",
    }
    return {f"MOBILETEST_{name}": value for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class Throughput:
    """Runs a second that workers get through while many wait, and the milliseconds of CPU that each costs them."""

    runs_per_second: float
    cpu_ms: float


async def throughput(bench: Bench, workers: int, organisations: int = 1) -> Throughput:
    """Of BACKLOG waiting runs, between the first and the last tenth."""
    await bench.clear()
    orgs = [str(uuid4()) for _ in range(organisations)]
    for first in range(0, BACKLOG, 64):
        await asyncio.gather(*(bench.start(orgs[n % organisations]) for n in range(first, min(first + 64, BACKLOG))))
    async with bench.workers(workers) as processes:
        samples = await _samples(bench, [process.pid for process in processes])
    steady = [sample for sample in samples if BACKLOG // 10 <= sample.ended <= BACKLOG - BACKLOG // 10]
    first_one, last = steady[0], steady[-1]
    runs = last.ended - first_one.ended
    return Throughput(runs / (last.at - first_one.at), (last.cpu_seconds - first_one.cpu_seconds) / runs * 1000)


@dataclass(frozen=True, slots=True)
class Sample:
    """How many runs have ended at a time, and what CPU time the workers have used until then."""

    at: float
    ended: int
    cpu_seconds: float


async def _samples(bench: Bench, pids: Sequence[int]) -> list[Sample]:
    """Until all runs have ended."""
    runs, samples = bench.mongo.collection("runs"), [Sample(monotonic(), 0, 0.0)]
    async with asyncio.timeout(90):
        while samples[-1].ended < BACKLOG:
            await asyncio.sleep(0.25)
            ended = await runs.count_documents({"status": "completed"})
            samples.append(Sample(monotonic(), ended, sum(map(_cpu_seconds, pids))))
    return samples


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def latency(bench: Bench, workers: int) -> tuple[float, float]:
    """Milliseconds from a start to its claim, p50 and p99, one start at a time with pauses."""
    await bench.clear()
    org_id, took = str(uuid4()), []
    async with bench.workers(workers):
        for number in range(SINGLE + 20):
            await asyncio.sleep(random.uniform(0, 2 * PAUSE_SECONDS))
            execution_id = await bench.start(org_id)
            run = await _ended(bench, execution_id)
            if number >= 20:
                took.append((run["started_at"] - run["created_at"]).total_seconds() * 1000)
    return median(took), quantiles(took, n=100)[-1]


async def _ended(bench: Bench, execution_id: str) -> Any:
    async with asyncio.timeout(60):
        while True:
            run = await bench.mongo.collection("runs").find_one({"execution_id": execution_id})
            if run["status"] == "completed":
                return run
            await asyncio.sleep(0.002)


async def idle(folder: Path) -> dict[str, float]:
    """The percentage of a core that each part of a local stack uses while nothing happens."""
    async with run_stack(folder, extra_env=SESSION_OF_PRODUCTION) as stack:
        await asyncio.sleep(SETTLE_SECONDS)
        pids = {name: stack.pid_of(name) for name in stack.parts}
        before = {name: _cpu_seconds(pid) for name, pid in pids.items()}
        await asyncio.sleep(IDLE_SECONDS)
        return {name: (_cpu_seconds(pid) - before[name]) / IDLE_SECONDS * 100 for name, pid in pids.items()}


async def goals() -> list[Goal]:
    with tempfile.TemporaryDirectory() as folder:
        async with bench(Path(folder), ZERO_WORK) as running:
            busy = await throughput(running, 1)
            p50, p99 = await latency(running, 1)
    with tempfile.TemporaryDirectory() as folder:
        shares = await idle(Path(folder))
    others = ", ".join(f"{name} {share:.1f}" for name, share in shares.items())
    slots = f"{BACKLOG:,} waiting runs, {SLOTS} slots"
    return [
        Goal("runs without steps, of one worker", busy.runs_per_second, 300, "/s", figures=slots),
        Goal("CPU of the worker for such a run", busy.cpu_ms, 3, "ms", at_most=True, figures=slots),
        Goal("start to claim, p50", p50, 20, "ms", at_most=True, figures=f"{SINGLE} starts, one at a time"),
        Goal("start to claim, p99", p99, 100, "ms", at_most=True, figures=f"{SINGLE} starts, one at a time"),
        Goal("CPU of an idle worker", shares["worker-1"], 1, "%", at_most=True, figures=f"of a core; {others}"),
        Goal("CPU of the broker while all is idle", shares["broker"], 3, "%", at_most=True, figures="of a core"),
    ]


async def main(rounds: int, worker_module: str) -> None:
    rows: dict[str, list[Sequence[float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        async with bench(Path(folder), worker_module) as running:
            for _ in range(rounds):
                for workers in (1, 2):
                    name = f"{workers} worker"
                    measured = astuple(await throughput(running, workers))
                    rows.setdefault(f"runs/s and CPU ms, {name}", []).append(measured)
                    rows.setdefault(f"ms to claim p50 p99, {name}", []).append(await latency(running, workers))
    for name, columns in rows.items():
        print(name, *(f"{median(column):.1f}" for column in zip(*columns, strict=True)), flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["goals"]:
        show("Runs without steps", uvloop.run(goals()))
    else:
        module = "services.executor" if "attempts" in sys.argv else ZERO_WORK
        uvloop.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1, module))
