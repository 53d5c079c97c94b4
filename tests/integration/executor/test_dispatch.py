"""From a start to a verdict over gRPC, MongoDB and Kafka, with scripted attempts."""

from typing import Any

import grpc
import pytest
from mobiletest.executor.v1 import executions_pb2 as pb
from mobiletest.types.v1 import ci_pb2, execution_pb2, platform_pb2, run_config_pb2

from services.executor.model.attempts import AttemptResult
from services.executor.model.failures import Category, Failure
from tests.eventually import eventually
from tests.fakes.executor import FakeAttempts
from tests.integration.executor.catalog_server import Shelf

FAILED = AttemptResult(failure=Failure(Category.ASSERTION_FAILED, "Not there."))


async def test_a_workflow_runs_on_both_platforms_and_ends(executor: Any, connect: Any, shelf: Shelf) -> None:
    ios = shelf.planned("Tap it", platform=platform_pb2.PLATFORM_IOS)
    workflow_id = shelf.workflow(shelf.planned("Tap it"), ios)
    async with executor(FakeAttempts()) as app, connect(app.grpc_address) as client:
        start = await client.stub.StartWorkflow(pb.StartWorkflowRequest(workflow_id=workflow_id))
        assert start.status == execution_pb2.EXECUTION_STATUS_QUEUED
        execution = await client.ended(start.id)
        assert (execution.success, execution.counts.passed) == (True, 2)
        assert execution.source == execution_pb2.EXECUTION_SOURCE_INTERNAL
        assert {run.attempts[0].worker for run in await client.runs(start.id)} != {""}


async def test_a_single_test_can_be_started(executor: Any, connect: Any, shelf: Shelf) -> None:
    test_id = shelf.test(shelf.planned("Tap it"))
    async with executor(FakeAttempts()) as app, connect(app.grpc_address) as client:
        start = await client.stub.StartTest(pb.StartTestRequest(test_id=test_id))
        execution = await client.ended(start.id)
        assert (execution.kind, execution.success) == (pb.EXECUTION_KIND_TEST, True)


async def test_a_flaky_run_is_marked(executor: Any, connect: Any, shelf: Shelf) -> None:
    workflow_id = shelf.workflow(shelf.planned("Tap it"))
    async with executor(FakeAttempts(FAILED)) as app, connect(app.grpc_address) as client:
        execution_id = await client.start(workflow_id)
        assert (await client.ended(execution_id)).success
        [run] = await client.runs(execution_id)
        assert run.report_metadata["flaky"] is True
        assert [attempt.number for attempt in run.attempts] == [1, 2]


async def test_infrastructure_failures_are_retried_twice(executor: Any, connect: Any, shelf: Shelf) -> None:
    broken = AttemptResult(failure=Failure(Category.SESSION_LOST, "Gone."))
    workflow_id = shelf.workflow(shelf.planned("Tap it"))
    attempts = FakeAttempts(broken, broken, broken)
    async with (
        executor(attempts, infrastructure_backoff_seconds=0.1, poll_seconds=0.1) as app,
        connect(app.grpc_address) as client,
    ):
        execution = await client.ended(await client.start(workflow_id))
        assert execution.status == execution_pb2.EXECUTION_STATUS_FAILED
        assert execution.failure.category == execution_pb2.FAILURE_CATEGORY_SESSION_LOST
        assert len(attempts.begun) == 3


async def test_attribution_and_configuration_are_returned(executor: Any, connect: Any, shelf: Shelf) -> None:
    workflow_id = shelf.workflow(shelf.planned("Tap it"))
    ci = ci_pb2.CiAttribution(system="github", branch="main", pr_number=7)
    config = run_config_pb2.RunConfig(execution_mode=run_config_pb2.ExecutionMode(retries=0))
    async with executor(FakeAttempts(FAILED)) as app, connect(app.grpc_address) as client:
        execution_id = await client.start(workflow_id, ci=ci, run_config=config, service_client="mobiletest-cli/1")
        execution = await client.ended(execution_id)
        assert (execution.status, execution.success) == (execution_pb2.EXECUTION_STATUS_COMPLETED, False)
        assert (execution.ci, execution.service_client) == (ci, "mobiletest-cli/1")
        assert execution.source == execution_pb2.EXECUTION_SOURCE_CI
        assert execution.run_config.execution_mode.grounder_type == run_config_pb2.GROUNDER_TYPE_ACCESSIBILITY
        [run] = await client.runs(execution_id)
        assert dict(run.metadata)["branch"] == "main"


async def test_a_cancellation_stops_a_running_attempt(executor: Any, connect: Any, shelf: Shelf) -> None:
    attempts = FakeAttempts(blocking=True)
    workflow_id = shelf.workflow(shelf.planned("Tap it"))
    async with executor(attempts) as app, connect(app.grpc_address) as client:
        execution_id = await client.start(workflow_id)
        await eventually(lambda: attempts.begun)
        await client.stub.CancelExecution(pb.CancelExecutionRequest(execution_id=execution_id))
        await eventually(lambda: attempts.cancelled)
        assert (await client.ended(execution_id)).status == execution_pb2.EXECUTION_STATUS_CANCELLED
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await client.stub.CancelExecution(pb.CancelExecutionRequest(execution_id=execution_id))
        assert raised.value.code() is grpc.StatusCode.FAILED_PRECONDITION


async def test_watching_continues_to_the_end_and_resumes(executor: Any, connect: Any, shelf: Shelf) -> None:
    workflow_id = shelf.workflow(shelf.planned("Tap it"), shelf.planned("Tap it"))
    async with executor(FakeAttempts(FAILED)) as app, connect(app.grpc_address) as client:
        execution_id = await client.start(workflow_id)
        request = pb.WatchExecutionRequest(execution_id=execution_id)
        events = [event async for event in client.stub.WatchExecution(request)]
        assert [event.sequence for event in events] == list(range(1, len(events) + 1))
        assert events[-1].execution.status == execution_pb2.EXECUTION_STATUS_COMPLETED
        resume = pb.WatchExecutionRequest(execution_id=execution_id, after_sequence=events[-3].sequence)
        assert [event async for event in client.stub.WatchExecution(resume)] == events[-2:]


async def test_a_long_poll_returns_when_the_execution_changes(executor: Any, connect: Any, shelf: Shelf) -> None:
    attempts = FakeAttempts(blocking=True)
    workflow_id = shelf.workflow(shelf.planned("Tap it"))
    async with executor(attempts) as app, connect(app.grpc_address) as client:
        execution_id = await client.start(workflow_id)
        await eventually(lambda: attempts.begun)
        running = await client.get(execution_id)
        attempts.release.set()
        ended = await client.get(execution_id, wait=60, after_revision=running.revision)
        assert ended.revision > running.revision
        assert ended.status == execution_pb2.EXECUTION_STATUS_COMPLETED


async def test_max_parallel_is_respected(executor: Any, connect: Any, shelf: Shelf) -> None:
    attempts = FakeAttempts(blocking=True)
    workflow_id = shelf.workflow(*(shelf.planned("Tap it") for _ in range(5)), max_parallel=2)
    async with executor(attempts) as app, connect(app.grpc_address) as client:
        execution_id = await client.start(workflow_id)
        await eventually(lambda: len(attempts.begun) == 2)
        assert (await client.get(execution_id)).counts.running == 2
        attempts.release.set()
        assert (await client.ended(execution_id)).counts.passed == 5


async def test_a_start_with_an_idempotency_key_happens_once(executor: Any, connect: Any, shelf: Shelf) -> None:
    workflow_id = shelf.workflow(shelf.planned("Tap it"))
    request = pb.StartWorkflowRequest(workflow_id=workflow_id)
    key = (("idempotency-key", "key-1"),)
    async with executor(FakeAttempts()) as app, connect(app.grpc_address) as client:
        answers = [await client.stub.StartWorkflow(request, metadata=key) for _ in range(3)]
        assert len({answer.id for answer in answers}) == 1
        listed = await client.stub.ListExecutions(pb.ListExecutionsRequest())
        assert listed.total == 1


async def test_junit_is_rendered(executor: Any, connect: Any, shelf: Shelf) -> None:
    workflow_id = shelf.workflow(shelf.planned("Tap it"))
    async with executor(FakeAttempts(FAILED, FAILED)) as app, connect(app.grpc_address) as client:
        execution_id = await client.start(workflow_id)
        await client.ended(execution_id)
        junit = await client.stub.GetJUnit(pb.GetJUnitRequest(execution_id=execution_id))
        assert junit.content_type == "application/xml"
        assert b'type="assertion_failed"' in junit.data
        assert b"rerunFailure" in junit.data


@pytest.mark.parametrize(
    ("method", "request_message", "message"),
    [
        (
            "StartWorkflow",
            pb.StartWorkflowRequest(workflow_id="6f1b1f0e-5b0f-4d3e-9d1c-6d1f2a7c9b10"),
            "Workflow not found",
        ),
        ("StartTest", pb.StartTestRequest(test_id="6f1b1f0e-5b0f-4d3e-9d1c-6d1f2a7c9b10"), "Test not found"),
        (
            "GetExecution",
            pb.GetExecutionRequest(execution_id="6f1b1f0e-5b0f-4d3e-9d1c-6d1f2a7c9b10"),
            "Execution not found",
        ),
    ],
)
async def test_unknown_ids_are_not_found(
    executor: Any, connect: Any, method: str, request_message: Any, message: str
) -> None:
    async with executor(executor_role="api") as app, connect(app.grpc_address) as client:
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await getattr(client.stub, method)(request_message)
        assert (raised.value.code(), raised.value.details()) == (grpc.StatusCode.NOT_FOUND, message)


async def test_field_limits_are_enforced(executor: Any, connect: Any, shelf: Shelf) -> None:
    config = run_config_pb2.RunConfig(execution_mode=run_config_pb2.ExecutionMode(retries=6))
    async with executor(executor_role="api") as app, connect(app.grpc_address) as client:
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await client.start(shelf.workflow(shelf.planned("Tap it")), run_config=config)
        assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert "run_config.execution_mode.retries" in (raised.value.details() or "")
