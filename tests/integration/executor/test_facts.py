"""The executor's history: each run and execution as in the latest event about it."""

from typing import Any

import grpc
import pytest
from mobiletest.executor.v1 import events_pb2, facts_pb2, facts_pb2_grpc
from mobiletest.executor.v1 import executions_pb2 as pb
from pymongo import MongoClient

from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import AttemptResult
from services.chassis import grpc_server
from services.chassis.outbox import OUTBOX, to_events
from tests.fakes.executor import FakeAttempts
from tests.integration.executor.catalog_server import TOKEN, TOKEN_OF_GATEWAY, Shelf

FAILED = AttemptResult(failure=Failure(Category.ASSERTION_FAILED, "Not there."))
BROKEN = AttemptResult(failure=Failure(Category.SESSION_LOST, "Gone."))
SERVICE = facts_pb2.DESCRIPTOR.services_by_name["ExecutionFacts"]


async def exported(address: str, page_size: int) -> tuple[list[Any], list[Any]]:
    """All runs and executions, in pages of this size."""
    async with grpc_server.open_channel(address, TOKEN, services=[SERVICE]) as channel:
        stub: Any = facts_pb2_grpc.ExecutionFactsStub(channel)  # type: ignore[no-untyped-call]
        return (
            await _all(stub.ListRunFacts, facts_pb2.ListRunFactsRequest, page_size),
            await _all(stub.ListExecutionFacts, facts_pb2.ListExecutionFactsRequest, page_size),
        )


async def _all(ask: Any, request: Any, page_size: int) -> list[Any]:
    facts: list[Any] = []
    token = None
    while token != "":
        page = await ask(request(page_token=token, page_size=page_size))
        assert len(page.facts) <= page_size
        facts, token = [*facts, *page.facts], page.next_page_token
    return facts


def newest_events(client: MongoClient[dict[str, Any]], database: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The latest event about each run and each execution, from the outbox."""
    runs: dict[str, Any] = {}
    executions: dict[str, Any] = {}
    rows = client[database][OUTBOX].find().sort("sequence", 1)
    for event in (event for row in rows for event in to_events(row)):
        if event.type == events_pb2.RunChanged.DESCRIPTOR.full_name:
            told = events_pb2.RunChanged.FromString(event.payload)
            runs[told.run.id] = told
        elif event.type == events_pb2.ExecutionChanged.DESCRIPTOR.full_name:
            fact = events_pb2.ExecutionChanged.FromString(event.payload)
            executions[fact.execution.id] = fact
    return runs, executions


def planned(shelf: Shelf) -> Any:
    """A run of a build that was uploaded at a whole millisecond, like all builds of the catalog."""
    run = shelf.planned("Tap it")
    run.build.uploaded_at.nanos = run.build.uploaded_at.nanos // 1_000_000 * 1_000_000
    return run


async def test_facts_match_the_latest_events(
    executor: Any, connect: Any, shelf: Shelf, mongo_client: MongoClient[dict[str, Any]], mongo_database: str
) -> None:
    attempts = FakeAttempts(FAILED, FAILED, BROKEN, AttemptResult())
    one, three = (shelf.workflow(*(planned(shelf) for _ in range(runs))) for runs in (1, 3))
    waiting = shelf.workflow(*(planned(shelf) for _ in range(2)), max_parallel=1)
    async with (
        executor(attempts, infrastructure_backoff_seconds=0.1, poll_seconds=0.1) as app,
        connect(app.grpc_address) as client,
    ):
        for workflow_id in (one, three):
            await client.ended(await client.start(workflow_id, ci={"branch": "main", "commit_sha": "c0ffee"}))
        attempts.release.clear()
        under_way = await client.start(waiting)
        await client.running(under_way)
        runs, executions = await exported(app.grpc_address, 5000)
        for page_size in (1, 2):
            assert await exported(app.grpc_address, page_size) == (runs, executions)
        told_runs, told_executions = newest_events(mongo_client, mongo_database)
        await client.stub.CancelExecution(pb.CancelExecutionRequest(execution_id=under_way))
        await client.ended(under_way)
    assert [run.run.id for run in runs] == sorted(told_runs)
    assert [execution.execution.id for execution in executions] == sorted(told_executions)
    assert (len(runs), len(executions)) == (6, 3)
    for run in runs:
        told = told_runs[run.run.id]
        told.sequence = 0  # the fact's number in the execution's log, which it is not in
        assert run.SerializeToString(deterministic=True) == told.SerializeToString(deterministic=True)
    for execution in executions:
        told = told_executions[execution.execution.id]
        told.sequence = told.execution.revision = execution.sequence  # it counts what is told of its runs too
        told.execution.counts.CopyFrom(execution.execution.counts)  # and what becomes of them
        assert execution.SerializeToString(deterministic=True) == told.SerializeToString(deterministic=True)


async def test_only_reporting_can_list_facts(executor: Any, shelf: Shelf) -> None:
    async with executor(executor_role="api") as app:
        for token, code in (
            (TOKEN_OF_GATEWAY, grpc.StatusCode.PERMISSION_DENIED),
            ("x" * 20, grpc.StatusCode.UNAUTHENTICATED),
        ):
            async with grpc_server.open_channel(app.grpc_address, token, services=[SERVICE]) as channel:
                stub: Any = facts_pb2_grpc.ExecutionFactsStub(channel)  # type: ignore[no-untyped-call]
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await stub.ListRunFacts(facts_pb2.ListRunFactsRequest())
                assert refused.value.code() is code
