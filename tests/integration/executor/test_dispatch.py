"""From a start to a verdict over gRPC, MongoDB and Kafka, with scripted attempts."""

import grpc
import pytest
from mobiletest.executor.v1 import executions_pb2 as pb
from mobiletest.types.v1 import execution_pb2, platform_pb2

from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import AttemptResult
from tests.eventually import eventually
from tests.integration.executor.conftest import Served

pytestmark = pytest.mark.asyncio(loop_scope="module")

EXECUTOR = {"infrastructure_backoff_seconds": 0.1, "poll_seconds": 0.1}
SCRIPTED = True
FAILED = AttemptResult(failure=Failure(Category.ASSERTION_FAILED, "Not there."))


async def test_a_single_test_can_be_started_and_may_be_flaky(served: Served) -> None:
    test_id = served.shelf.test(served.shelf.planned("Tap it"))
    served.attempts.reset(FAILED)
    start = await served.client.stub.StartTest(pb.StartTestRequest(test_id=test_id))
    execution = await served.client.ended(start.id)
    assert (execution.kind, execution.success) == (pb.EXECUTION_KIND_TEST, True)
    [run] = await served.client.runs(start.id)
    assert run.report_metadata["flaky"] is True
    assert [attempt.number for attempt in run.attempts] == [1, 2]


async def test_a_workflow_runs_on_both_platforms_and_ends(served: Served) -> None:
    ios = served.shelf.planned("Tap it", platform=platform_pb2.PLATFORM_IOS)
    workflow_id = served.shelf.workflow(served.shelf.planned("Tap it"), ios)
    start = await served.client.stub.StartWorkflow(pb.StartWorkflowRequest(workflow_id=workflow_id))
    assert start.status == execution_pb2.EXECUTION_STATUS_QUEUED
    execution = await served.client.ended(start.id)
    assert (execution.success, execution.counts.passed) == (True, 2)
    assert execution.source == execution_pb2.EXECUTION_SOURCE_INTERNAL
    assert {run.attempts[0].worker for run in await served.client.runs(start.id)} != {""}


async def test_a_cancellation_stops_a_running_attempt(served: Served) -> None:
    served.attempts.reset(blocking=True)
    workflow_id = served.shelf.workflow(served.shelf.planned("Tap it"))
    execution_id = await served.client.start(workflow_id)
    await eventually(lambda: served.attempts.begun)
    await served.client.stub.CancelExecution(pb.CancelExecutionRequest(execution_id=execution_id))
    await eventually(lambda: served.attempts.cancelled)
    assert (await served.client.ended(execution_id)).status == execution_pb2.EXECUTION_STATUS_CANCELLED
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await served.client.stub.CancelExecution(pb.CancelExecutionRequest(execution_id=execution_id))
    assert raised.value.code() is grpc.StatusCode.FAILED_PRECONDITION


async def test_a_long_poll_returns_when_the_execution_changes(served: Served) -> None:
    served.attempts.reset(blocking=True)
    workflow_id = served.shelf.workflow(served.shelf.planned("Tap it"))
    execution_id = await served.client.start(workflow_id)
    await eventually(lambda: served.attempts.begun)
    running = await served.client.get(execution_id)
    served.attempts.release.set()
    ended = await served.client.get(execution_id, wait=60, after_revision=running.revision)
    assert ended.revision > running.revision
    assert ended.status == execution_pb2.EXECUTION_STATUS_COMPLETED
