"""Attempts on device pools."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from services.executor.automation.devices.pools.pooled_devices import PooledDevices
from services.executor.model.failures import NO_PLATFORM
from services.executor.model.runs import Session
from services.executor.model.states import Status
from services.executor.worker.attempts import AutomatedAttempts
from services.executor.worker.build_provider import BuildHeadCache, BuildProvider
from services.executor.worker.file_cache import FileCache
from services.executor.worker.run_executor import RunExecutor
from services.executor.worker.session_tracker import SessionTracker
from services.executor.worker.variables import VariableReader
from tests.fakes.attempt_processes import LIMITS, task_processes
from tests.fakes.executor import FakeArtifacts, FakeCatalog
from tests.fakes.executor_baselines import FakeBaselines
from tests.fakes.executor_executions import FakeExecutions
from tests.unit.executor.worker.builders import active_run, run_of, started


async def delete_session(session: Session) -> bool:
    return True


@pytest.fixture
async def attempts(tmp_path: Path) -> AsyncIterator[Callable[..., AutomatedAttempts]]:
    """Makes attempts on simulated devices of both platforms."""
    async with task_processes() as processes:

        def make(store: FakeExecutions, catalog: FakeCatalog | None = None, **options: Any) -> AutomatedAttempts:
            catalog = catalog or FakeCatalog()
            builds = BuildProvider(BuildHeadCache(catalog, 0), FileCache(catalog, tmp_path, 0))
            sessions = SessionTracker(store, delete_session)
            defaults = {
                "artifacts": FakeArtifacts(),
                "baselines": FakeBaselines(),
                "variables": VariableReader(catalog),
                "step_seconds": 1,
                "cpu": LIMITS.cpu,
            }
            return AutomatedAttempts(PooledDevices.load(None), processes, builds, sessions, **{**defaults, **options})

        yield make


async def test_a_run_without_a_platform_fails_and_says_what_to_do(attempts: Callable[..., AutomatedAttempts]) -> None:
    store = FakeExecutions()
    [key] = await started(store)
    run = run_of(store, key)
    store.stored[key.run_id] = replace(run, target=replace(run.target, platform=None))
    await RunExecutor(store, attempts(store), "worker-1").execute(await active_run(store, key))
    ended = run_of(store, key)
    assert (ended.status, ended.success, ended.failure) == (Status.FAILED, None, NO_PLATFORM)
    assert (len(ended.attempts), ended.attempts[0].device) == (1, None)
    assert "set the test's platform to iOS or Android" in NO_PLATFORM.message
