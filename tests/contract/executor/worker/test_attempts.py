"""Attempts on device pools."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from mobiletest_automation.devices.port import Device
from mobiletest_automation.model.devices import Platform, Session
from mobiletest_automation.model.failures import NO_PLATFORM
from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.model.states import Status
from services.chassis import logs
from services.chassis.object_store import ObjectStore
from services.executor.model.runs import Run
from services.executor.pools.pool import DEFAULT_POOLS
from services.executor.pools.pooled_devices import PooledDevices
from services.executor.ports.runs import Runs
from services.executor.storage.baselines import MongoBaselines
from services.executor.storage.live_steps import MongoLiveAttempts
from services.executor.storage.schema import RUNS
from services.executor.worker.attempts import AutomatedAttempts
from services.executor.worker.build_provider import BuildHeadCache, BuildProvider
from services.executor.worker.file_cache import FileCache
from services.executor.worker.live_steps import LiveStepsWriter
from services.executor.worker.processes.pool import AttemptProcesses
from services.executor.worker.run_executor import ActiveRun, RunExecutor
from services.executor.worker.session_tracker import SessionTracker
from services.executor.worker.variables import VariableReader
from services.executor.worker.worker import Worker
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import claimed, run_of, started
from tests.eventually import eventually
from tests.fakes.attempt_processes import LIMITS, task_processes
from tests.fakes.executor import FakeArtifacts, FakeCatalog, plan


async def delete_session(session: Session) -> bool:
    return True


SECRET = "hunter2-hunter2"
WORDS = f"the driver said {SECRET} \x1b]52;c;x\x07 ##vso[task.complete]"


class Pools(PooledDevices):
    """Says these words when a device is opened or closed."""

    def __init__(self, *, opens: bool) -> None:
        super().__init__(DEFAULT_POOLS)
        self._opens = opens

    async def acquire(self, *arguments: Any, **named: Any) -> Device:
        if not self._opens:
            raise RuntimeError(WORDS)
        device: Any = await super().acquire(*arguments, **named)
        device.close = self._fail
        return device  # type: ignore[no-any-return]

    async def _fail(self) -> None:
        raise RuntimeError(WORDS)


class BrokenProcesses:
    """Runs no attempt."""

    async def run(self, *_: object) -> AttemptResult:
        raise RuntimeError(WORDS)


class BrokenRuns:
    """Stores no result."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runs, name)

    async def finish(self, *_: object) -> Run:
        raise RuntimeError(WORDS)


@pytest.mark.parametrize(
    ("broken", "events"),
    [
        ("acquire", {"attempt_call_failed", "attempt_failed"}),
        ("release", {"device_not_closed"}),
        ("processes", {"attempt_failed", "work_failed"}),
    ],
)
async def test_logs_have_no_secret_of_an_attempt(world: World, tmp_path: Path, broken: str, events: set[str]) -> None:
    """Whatever a driver or another part says, wherever it is logged; and nothing that a terminal or CI obeys."""
    [key] = await started(world, replace(plan(), env={"PASSWORD": SECRET}))
    catalog, pools = FakeCatalog(), Pools(opens=broken != "acquire")
    runs: Any = BrokenRuns(world.runs) if broken == "processes" else world.runs
    with capture_logs(logs.processors()) as said:
        async with task_processes() as tasks:
            processes: Any = BrokenProcesses() if broken == "processes" else tasks
            attempts = automated(world, pools, processes, catalog, tmp_path)
            worker = Worker(runs, attempts, name="worker-1", slots=1)
            await worker.claim([key], Platform.ANDROID)
            await eventually(lambda: not worker.active)
            await attempts.close(5)
    told = [entry for entry in said if "the driver said" in str(entry)]
    assert {entry["event"] for entry in told} == events
    for entry in told:
        text = "\n".join(map(str, entry.values()))
        assert (SECRET in text, "${PASSWORD}" in text) == (False, True)
        assert ("\x1b" in text, "##vso[" in text) == (False, False)


def automated(
    world: World, pools: PooledDevices, processes: AttemptProcesses, catalog: FakeCatalog, folder: Path
) -> AutomatedAttempts:
    return AutomatedAttempts(
        pools,
        processes,
        BuildProvider(BuildHeadCache(catalog, 0), FileCache(catalog, folder, 0)),
        SessionTracker(world.runs, delete_session),
        artifacts=FakeArtifacts(),
        baselines=MongoBaselines(world.mongo, ObjectStore.open(folder.as_uri())),
        variables=VariableReader(catalog),
        step_seconds=1,
        cpu=LIMITS.cpu,
        live=LiveStepsWriter(MongoLiveAttempts(world.mongo)),
    )


async def test_a_run_without_a_platform_fails_and_says_what_to_do(world: World, tmp_path: Path) -> None:
    [key] = await started(world)
    await world.mongo.collection(RUNS).update_one({"_id": key.run_id}, {"$unset": {"target.platform": ""}})
    catalog = FakeCatalog()
    async with task_processes() as processes:
        attempts = automated(world, PooledDevices(DEFAULT_POOLS), processes, catalog, tmp_path)
        active = ActiveRun(await claimed(world, key))
        await RunExecutor(world.runs, attempts, "worker-1").execute(active)
    ended = await run_of(world, key)
    assert (ended.status, ended.success, ended.failure) == (Status.FAILED, None, NO_PLATFORM)
    assert (len(ended.attempts), ended.attempts[0].device) == (1, None)
    assert "set the test's platform to iOS or Android" in NO_PLATFORM.message
