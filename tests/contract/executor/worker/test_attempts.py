"""Attempts on device pools."""

from pathlib import Path

from services.chassis.object_store import ObjectStore
from services.executor.automation.devices.pools.pool import DEFAULT_POOLS
from services.executor.automation.devices.pools.pooled_devices import PooledDevices
from services.executor.model.failures import NO_PLATFORM
from services.executor.model.runs import Session
from services.executor.model.states import Status
from services.executor.storage.baselines import MongoBaselines
from services.executor.storage.schema import RUNS
from services.executor.worker.attempts import AutomatedAttempts
from services.executor.worker.build_provider import BuildHeadCache, BuildProvider
from services.executor.worker.file_cache import FileCache
from services.executor.worker.run_executor import ActiveRun, RunExecutor
from services.executor.worker.session_tracker import SessionTracker
from services.executor.worker.variables import VariableReader
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import claimed, run_of, started
from tests.fakes.attempt_processes import LIMITS, task_processes
from tests.fakes.executor import FakeArtifacts, FakeCatalog


async def delete_session(session: Session) -> bool:
    return True


async def test_a_run_without_a_platform_fails_and_says_what_to_do(world: World, tmp_path: Path) -> None:
    [key] = await started(world)
    await world.mongo.collection(RUNS).update_one({"_id": key.run_id}, {"$unset": {"target.platform": ""}})
    catalog = FakeCatalog()
    async with task_processes() as processes:
        attempts = AutomatedAttempts(
            PooledDevices(DEFAULT_POOLS),
            processes,
            BuildProvider(BuildHeadCache(catalog, 0), FileCache(catalog, tmp_path, 0)),
            SessionTracker(world.runs, delete_session),
            artifacts=FakeArtifacts(),
            baselines=MongoBaselines(world.mongo, ObjectStore.open(tmp_path.as_uri())),
            variables=VariableReader(catalog),
            step_seconds=1,
            cpu=LIMITS.cpu,
        )
        active = ActiveRun(await claimed(world, key))
        await RunExecutor(world.runs, attempts, "worker-1").execute(active)
    ended = await run_of(world, key)
    assert (ended.status, ended.success, ended.failure) == (Status.FAILED, None, NO_PLATFORM)
    assert (len(ended.attempts), ended.attempts[0].device) == (1, None)
    assert "set the test's platform to iOS or Android" in NO_PLATFORM.message
