"""Runs on the simulated device: models from the catalog, time limits, handovers, and many runs at once."""

from pathlib import Path
from typing import Any

import pytest
import structlog.testing
from mobiletest.executor.v1 import executions_pb2 as pb
from mobiletest.executor.v1 import runs_pb2
from mobiletest.types.v1 import execution_pb2

from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import AttemptResult
from services.chassis.mongo import Driver
from services.executor.pools.config import PoolFileError
from tests.eventually import eventually
from tests.fakes.executor import FakeAttempts
from tests.integration.executor.catalog_server import Shelf
from tests.integration.executor.conftest import TERMINAL, Client, Served
from tests.integration.executor.models import GOOD, SEE, model

in_module = pytest.mark.asyncio(loop_scope="module")

EXECUTOR: dict[str, Any] = {}
SCRIPTED = False
STORM = 20
FAILED = AttemptResult(failure=Failure(Category.ASSERTION_FAILED, "Not there."))


@in_module
async def test_a_test_passes_on_the_build_from_the_catalog(served: Served) -> None:
    build_id = served.shelf.build(model())
    workflow_id = served.shelf.workflow(served.shelf.planned(GOOD, SEE, build_id=build_id))
    execution_id = await served.client.start(workflow_id)
    assert (await served.client.ended(execution_id)).success
    [run] = await served.client.runs(execution_id)
    [attempt] = run.attempts
    assert (attempt.simulated, run.metadata["simulated"]) == (True, True)
    assert (attempt.built_in_model, run.metadata["built_in_model"]) == (False, False)
    assert run.simulation.startswith("A simulated device ran a model of the app instead of the app")
    assert [step.text for step in attempt.steps] == [GOOD, SEE]
    assert {step.status for step in attempt.steps} == {runs_pb2.STEP_STATUS_PASSED}


@in_module
async def test_a_build_that_the_catalog_cannot_give_ends_the_run_and_says_so(served: Served) -> None:
    workflow_id = served.shelf.workflow(served.shelf.planned(GOOD, build_id="6f1b1f0e-5b0f-4d3e-9d1c-6d1f2a7c9b10"))
    execution = await served.client.ended(await served.client.start(workflow_id))
    assert execution.failure.category == execution_pb2.FAILURE_CATEGORY_ARTIFACT_INVALID
    assert "Build not found" in execution.failure.message


async def test_a_run_ends_at_its_time_limit(executor: Any, connect: Any, shelf: Shelf) -> None:
    build_id = shelf.build(model(step_ms=300))
    workflow_id = shelf.workflow(shelf.planned(GOOD, *[SEE] * 200, build_id=build_id))
    async with executor(run_timeout_seconds=1.0) as app, connect(app.grpc_address) as client:
        execution = await client.ended(await client.start(workflow_id))
        assert execution.failure.category == execution_pb2.FAILURE_CATEGORY_RUN_TIMEOUT


@in_module
async def test_a_pass_of_an_app_file_on_a_simulated_device_says_that_the_built_in_model_ran(served: Served) -> None:
    build_id = served.shelf.build(b"PK\x03\x04 an app file")
    workflow_id = served.shelf.workflow(served.shelf.planned({"assertVisible": "Log in"}, build_id=build_id))
    execution_id = await served.client.start(workflow_id)
    await served.client.ended(execution_id)
    [run] = await served.client.runs(execution_id)
    assert (run.attempts[0].built_in_model, run.metadata["built_in_model"]) == (True, True)
    assert run.simulation.startswith("A simulated device ran its built-in model instead of build")


async def test_without_device_pools_a_run_waits_and_ends_as_device_unavailable(
    executor: Any, connect: Any, shelf: Shelf
) -> None:
    workflow_id = shelf.workflow(shelf.planned(GOOD))
    with structlog.testing.capture_logs() as logged:
        async with (
            executor(simulated_devices=False, queue_timeout_seconds=1.0) as app,
            connect(app.grpc_address) as client,
        ):
            execution_id = await client.start(workflow_id)
            execution = await client.ended(execution_id)
            assert [run.attempt_number for run in await client.runs(execution_id)] == [0]
    assert execution.failure.category == execution_pb2.FAILURE_CATEGORY_DEVICE_UNAVAILABLE
    assert "no_device_pools" in {entry["event"] for entry in logged}


async def test_simulated_pools_are_refused_at_start_without_the_setting(executor: Any, tmp_path: Path) -> None:
    pools = tmp_path / "pools.yaml"
    pools.write_text("pools:\n  - {platform: ios, kind: simulated}")
    with pytest.raises(PoolFileError, match="MOBILETEST_SIMULATED_DEVICES=true"):
        async with executor(simulated_devices=False, device_pools=str(pools)):
            pass


async def test_a_run_that_waits_for_busy_devices_ends_after_the_queue_timeout(
    executor: Any, connect: Any, shelf: Shelf
) -> None:
    long = shelf.workflow(shelf.planned(GOOD, *[SEE] * 200, build_id=shelf.build(model(step_ms=300))))
    waiting = shelf.workflow(shelf.planned(GOOD))
    async with executor(executor_slots=1, queue_timeout_seconds=1.0) as app, connect(app.grpc_address) as client:
        busy = await eventually(lambda: _running(client, long))
        execution = await client.ended(await client.start(waiting))
        assert execution.failure.category == execution_pb2.FAILURE_CATEGORY_QUEUE_TIMEOUT
        await client.stub.CancelExecution(pb.CancelExecutionRequest(execution_id=busy))


async def _running(client: Client, workflow_id: str) -> str | None:
    """A new execution that runs; None if it has waited for too long itself, as on a slow machine."""
    execution_id = await client.start(workflow_id)

    async def left_queue() -> pb.Execution | None:
        execution = await client.get(execution_id)
        return execution if execution.counts.running or execution.status in TERMINAL else None

    left = await eventually(left_queue)
    return execution_id if left is not None and left.counts.running else None


async def test_a_draining_worker_hands_its_run_to_another_at_once(executor: Any, connect: Any, shelf: Shelf) -> None:
    build_id = shelf.build(model(step_ms=100))
    workflow_id = shelf.workflow(shelf.planned(GOOD, *[SEE] * 20, build_id=build_id))
    async with executor(executor_role="api") as api, connect(api.grpc_address) as client:
        async with executor(executor_role="worker", instance="first"):
            execution_id = await client.start(workflow_id)
            await client.running(execution_id)
        async with executor(executor_role="worker", instance="second"):
            assert (await client.ended(execution_id)).success
        [run] = await client.runs(execution_id)
        assert [attempt.worker for attempt in run.attempts] == ["first", "second"]
        assert run.report_metadata["flaky"] is False


async def test_a_storm_of_runs_ends_with_one_verdict_each(
    executor: Any, connect: Any, shelf: Shelf, mongo_driver: Driver
) -> None:
    """Some are flaky, and some fail."""
    workflow_id = shelf.workflow(*(shelf.planned("Tap it") for _ in range(STORM)))
    attempts = [FakeAttempts(*[FAILED] * (STORM // 2)) for _ in range(2)]
    async with (
        executor(mongo_driver=mongo_driver, executor_role="api") as api,
        executor(attempts[0], mongo_driver=mongo_driver, executor_role="worker"),
        executor(attempts[1], mongo_driver=mongo_driver, executor_role="worker"),
        connect(api.grpc_address) as client,
    ):
        execution_id = await client.start(workflow_id)
        execution = await client.ended(execution_id)
        counts = execution.counts
        assert counts.passed + counts.failed == counts.total == STORM
        request = pb.WatchExecutionRequest(execution_id=execution_id)
        ends = [
            event.run.id
            async for event in client.stub.WatchExecution(request)
            if event.run.status == execution_pb2.EXECUTION_STATUS_COMPLETED
        ]
        assert len(ends) == len(set(ends)) == STORM
