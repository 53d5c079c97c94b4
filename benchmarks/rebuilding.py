"""What verify and rebuild cost: `python -m benchmarks.rebuilding [RUNS]` (100,000 without).

A history is put into the executor's database as the executor keeps it, in executions of 50 runs. Then the commands are
called as operators do: rebuild, from nothing, and verify. Their CPU and memory are those of their own process; mongod
and the two services that export the history have theirs besides.
"""

import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import uvloop
from pydantic import SecretStr

from benchmarks.reporting import Servers, cpu_seconds, servers
from deploy.local.layout import python_path
from mobiletest_automation.model.attempts import Attempt
from mobiletest_automation.model.devices import Platform
from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.states import RunCounts, Status
from services.catalog.app import start_app as catalog
from services.catalog.settings import Settings as CatalogSettings
from services.chassis import logs
from services.chassis.mongo import Mongo
from services.chassis.service_token import token_digest
from services.chassis.settings import ProcessSettings
from services.executor.app import start_app as executor
from services.executor.model.attribution import ExecutionSource
from services.executor.model.executions import Execution, ExecutionKind
from services.executor.model.runs import Run, RunLimits, RunTarget
from services.executor.settings import Settings as ExecutorSettings
from services.executor.storage.records import execution_document, run_document
from services.executor.storage.schema import EXECUTIONS, RUNS

S = TypeVar("S", bound=ProcessSettings)

TOKEN = "t" * 20
ORG = str(UUID(int=1))
TESTS, BUILDS, TOGETHER = 200, 40, 50
START = datetime(2026, 8, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one command took: seconds of a clock, CPU seconds of its process and of mongod, its peak in MiB."""

    operation: str
    seconds: float
    own_cpu: float
    mongod_cpu: float
    peak: float


def history(runs: int) -> Iterator[tuple[Execution, list[Run]]]:
    """Executions with their runs: 50 tests of one build each, one in ten failed."""
    chance = random.Random(20261121)
    for number in range(runs // TOGETHER):
        at = START + timedelta(minutes=number)
        execution = Execution(
            id=str(UUID(int=chance.getrandbits(128))),
            org_id=ORG,
            kind=ExecutionKind.WORKFLOW,
            source=ExecutionSource.API,
            created_at=at,
            status=Status.COMPLETED,
            success=False,
            counts=RunCounts(total=TOGETHER, failed=TOGETHER),
            started_at=at,
            completed_at=at + timedelta(minutes=5),
            revision=TOGETHER * 3,
        )
        yield execution, [_run(chance, execution, number, place) for place in range(TOGETHER)]


def _run(chance: random.Random, execution: Execution, number: int, place: int) -> Run:
    build = number * BUILDS // 2000 % BUILDS
    test = (number * TOGETHER + place) % TESTS
    failure = None
    if not chance.randrange(10):
        failure = Failure(
            Category.ELEMENT_NOT_FOUND, f'No "Buy {test % 7}" after 30 s', step_index=2, step_kind="tapOn"
        )
    began = execution.created_at + timedelta(seconds=place)
    attempt = Attempt(number=1, worker="worker-1", started_at=began, device="phone-1", simulated=True)
    ended = began + timedelta(seconds=60)
    done = replace(attempt, status=Status.COMPLETED, success=failure is None, completed_at=ended, failure=failure)
    return Run(
        id=str(UUID(int=chance.getrandbits(128))),
        execution_id=execution.id,
        org_id=ORG,
        position=place,
        target=RunTarget(
            test_id=f"test-{test:04}",
            test_name=f"Test {test}",
            test_version_number=1,
            platform=Platform.ANDROID,
            app_id="app-1",
            app_name="Shop",
            build_id=f"build-{build:04}",
            resolved_build_version=f"1.{build}",
            build_uploaded_at=START + timedelta(days=build),
        ),
        retries=1,
        created_at=execution.created_at,
        status=Status.COMPLETED,
        success=failure is None,
        failure=failure,
        attempts=(done,),
        started_at=began,
        completed_at=ended,
        revision=3,
    )


async def fill(servers: Servers, runs: int) -> None:
    """The history, written as the executor would have."""
    mongo = await Mongo.connect(servers.mongod.uri, "executor")
    for execution, its_runs in history(runs):
        await mongo.collection(EXECUTIONS).insert_one(execution_document(execution))
        await mongo.collection(RUNS).insert_many([run_document(run, RunLimits()) for run in its_runs])
    await mongo.close()


async def cost(servers: Servers, operation: str, addresses: dict[str, str]) -> Cost:
    """Call the command, and measure it until it has ended."""
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": python_path(),
        "MOBILETEST_SERVICE_TOKEN": TOKEN,
        "MOBILETEST_MONGO_URI": servers.mongod.uri,
        "MOBILETEST_KAFKA_BOOTSTRAP": servers.broker.bootstrap,
        "MOBILETEST_GENERATION_DROP_SECONDS": "0",
        **addresses,
    }
    before, began = cpu_seconds(servers.mongod.child.pid), time.monotonic()
    command = [sys.executable, "-m", "services.reporting", operation]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)  # noqa: ASYNC220
    _, code, used = await asyncio.to_thread(os.wait4, process.pid, 0)
    if code:
        raise RuntimeError(f"{operation} ended with {os.waitstatus_to_exitcode(code)}")
    seconds, server = time.monotonic() - began, cpu_seconds(servers.mongod.child.pid) - before
    return Cost(operation, seconds, used.ru_utime + used.ru_stime, server, used.ru_maxrss / 1024)


async def main(runs: int) -> None:
    """Print a line per command."""
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncExitStack() as stack:
            both = await stack.enter_async_context(servers(Path(folder)))
            logs.configure(settings := _settings(CatalogSettings, both), sys.stderr)
            told = await stack.enter_async_context(catalog(settings))
            ran = await stack.enter_async_context(
                executor(_settings(ExecutorSettings, both, executor_role="api", catalog_address=told.grpc_address))
            )
            await fill(both, runs)
            addresses = {
                "MOBILETEST_CATALOG_ADDRESS": told.grpc_address,
                "MOBILETEST_EXECUTOR_ADDRESS": ran.grpc_address,
            }
            for operation in ("rebuild", "verify"):
                _show(runs, await cost(both, operation, addresses))


def _settings(kind: type[S], servers: Servers, **more: Any) -> S:
    values: dict[str, Any] = {
        "service_token": SecretStr(TOKEN),
        "callers": f"reporting={token_digest(TOKEN)}",
        "kafka_idempotence": False,
        "log_level": "warning",
        "mongo_uri": servers.mongod.uri,
        "kafka_bootstrap": servers.broker.bootstrap,
        "object_store": (servers.folder / "objects").as_uri(),
    }
    return kind(**values, **more)


def _show(runs: int, cost: Cost) -> None:
    print(
        f"{cost.operation} of {runs} runs: {cost.seconds:.0f} s ({runs / cost.seconds:.0f}/s), "
        f"CPU {cost.own_cpu:.0f} s and mongod {cost.mongod_cpu:.0f} s, peak {cost.peak:.0f} MiB"
    )


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000))
