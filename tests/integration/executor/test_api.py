"""The API besides starts: lists, batches, pages, defaults, other organisations, metrics."""

from typing import Any
from uuid import uuid4

import aiohttp
import grpc
import pytest
from mobiletest.executor.v1 import executions_pb2 as pb
from mobiletest.types.v1 import ci_pb2, execution_pb2, platform_pb2

from services.chassis.context import ALL_SCOPES, Caller, bind
from tests.integration.executor.conftest import Served

pytestmark = pytest.mark.asyncio(loop_scope="module")

EXECUTOR: dict[str, Any] = {}
SCRIPTED = True
METRICS = (
    "mobiletest_executions_total",
    "mobiletest_execution_queue_seconds_bucket",
    "mobiletest_execution_duration_seconds_bucket",
    "mobiletest_executor_slots",
    "mobiletest_executor_running_executions",
    "mobiletest_execution_oldest_unclaimed_seconds",
    "mobiletest_execution_stuck",
    "mobiletest_lease_expired_total",
    "mobiletest_fencing_rejections_total",
    "mobiletest_attempts_total",
)


async def test_lists_are_paged_and_filtered(served: Served) -> None:
    served.attempts.reset(blocking=True)
    plain = [await served.client.start(served.shelf.workflow(served.shelf.planned("Tap it"))) for _ in range(3)]
    planned = served.shelf.planned("Tap it")
    branch = ci_pb2.CiAttribution(branch="main", commit_sha="abc", pr_number=7)
    workflow_id = served.shelf.workflow(planned)
    of_ci = await served.client.start(workflow_id, ci=branch)

    async def listed(**fields: Any) -> list[str]:
        listed = await served.client.stub.ListExecutions(pb.ListExecutionsRequest(**fields))
        return [execution.id for execution in listed.items]

    assert await listed() == [of_ci, *reversed(plain)]
    assert await listed(page=2, page_size=3) == [plain[0]]
    assert await listed(page=9) == []
    assert await listed(branch="main") == await listed(commit_sha="abc") == await listed(pr_number=7) == [of_ci]
    assert await listed(branch=".*") == []
    assert await listed(workflow_id=workflow_id) == [of_ci]
    assert await listed(app_id=planned.app.id.upper()) == [of_ci]
    assert await listed(source=execution_pb2.EXECUTION_SOURCE_CI) == [of_ci]
    assert await listed(status=execution_pb2.EXECUTION_STATUS_COMPLETED) == []
    first = await served.client.stub.ListExecutions(pb.ListExecutionsRequest(page_size=3))
    envelope = (first.total, first.page, first.page_size, first.total_pages, first.has_next, first.has_previous)
    assert envelope == (4, 1, 3, 2, True, False)


@pytest.mark.parametrize("fields", [{"page": 0}, {"page_size": 0}, {"page_size": 101}, {"workflow_id": "x"}])
async def test_list_limits_are_enforced(served: Served, fields: dict[str, Any]) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await served.client.stub.ListExecutions(pb.ListExecutionsRequest(**fields))
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_batches_and_runs_are_in_order(served: Served) -> None:
    names = [str(number) for number in range(3)]
    one = await served.client.start(
        served.shelf.workflow(*(served.shelf.planned("Tap it", name=name) for name in names))
    )
    two = await served.client.start(
        served.shelf.workflow(served.shelf.planned("Tap it", platform=platform_pb2.PLATFORM_IOS))
    )
    batch = await served.client.stub.BatchGetExecutions(
        pb.BatchGetExecutionsRequest(execution_ids=[two, str(uuid4()), "not an id", one])
    )
    assert [execution.id for execution in batch.executions] == [two, one]
    runs = await served.client.stub.ListRuns(pb.ListRunsRequest(execution_id=one, page=2, page_size=2))
    assert ([run.test_name for run in runs.items], runs.total, runs.has_previous) == (["2"], 3, True)


async def test_another_organisation_finds_nothing(served: Served) -> None:
    execution_id = await served.client.start(served.shelf.workflow(served.shelf.planned("Tap it")))
    [run] = await served.client.runs(execution_id)
    with bind(Caller(org_id=str(uuid4()), scopes=ALL_SCOPES)):
        calls = {
            "GetExecution": pb.GetExecutionRequest(execution_id=execution_id),
            "CancelExecution": pb.CancelExecutionRequest(execution_id=execution_id),
            "ListRuns": pb.ListRunsRequest(execution_id=execution_id),
            "GetRun": pb.GetRunRequest(execution_id=execution_id, run_id=run.id),
            "GetJUnit": pb.GetJUnitRequest(execution_id=execution_id),
        }
        for method, request in calls.items():
            with pytest.raises(grpc.aio.AioRpcError) as raised:
                await getattr(served.client.stub, method)(request)
            assert raised.value.code() is grpc.StatusCode.NOT_FOUND
            assert raised.value.details() == "Execution not found"
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await served.client.stub.WatchExecution(pb.WatchExecutionRequest(execution_id=execution_id)).read()
        assert raised.value.details() == "Execution not found"


async def test_the_documented_metrics_are_exported(served: Served) -> None:
    workflow_id = served.shelf.workflow(served.shelf.planned("Tap it"))
    await served.client.ended(await served.client.start(workflow_id))
    async with aiohttp.ClientSession() as web, web.get(f"http://{served.app.admin_address}/metrics") as answer:
        text = await answer.text()
    async with aiohttp.ClientSession() as web, web.get(f"http://{served.app.admin_address}/readyz") as answer:
        assert answer.status == 200
    assert [name for name in METRICS if f"\n{name}" not in text] == []
    assert 'mobiletest_attempts_total{outcome="passed"}' in text
