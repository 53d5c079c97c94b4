"""A run asks a person over gRPC: answered, unanswered, cancelled, handed over, and seen by watchers."""

import asyncio
import re
from typing import Any

import grpc
import pytest
from mobiletest.executor.v1 import executions_pb2 as pb
from mobiletest.types.v1 import execution_pb2

from tests.integration.executor.catalog_server import Shelf
from tests.integration.executor.conftest import Served
from tests.integration.executor.human_answers import AMBIGUOUS, TWO_BUTTONS, answer, asking, question

in_module = pytest.mark.asyncio(loop_scope="module")

EXECUTOR: dict[str, Any] = {}
SCRIPTED = False


def ambiguous(shelf: Shelf) -> str:
    """A workflow whose run asks."""
    return shelf.workflow(shelf.planned(AMBIGUOUS, 'I see "Count 2"', build_id=shelf.build(TWO_BUTTONS)))


@in_module
async def test_an_answer_lets_the_run_continue(served: Served) -> None:
    client = served.client
    execution_id = await client.start(ambiguous(served.shelf), run_config=asking())
    run, asked = await question(client, execution_id)
    assert asked.step_index == 0
    assert list(asked.options) == [
        'tap the 1st: button "Add"',
        'tap the 2nd: button "Add"',
        "retry",
        "skip",
        "fail",
    ]
    picture = pb.DownloadArtifactRequest(execution_id=execution_id, run_id=run.id, artifact_name=asked.screenshot)
    content = b"".join([chunk.data async for chunk in client.stub.DownloadArtifact(picture)])
    assert content.startswith(b"\x89PNG")
    assert not (await answer(client, run, asked.options[1], asked.id)).HasField("question")
    assert (await client.ended(execution_id)).success
    [run] = await client.runs(execution_id)
    [attempt] = run.attempts
    assert attempt.steps[0].message == f"a person's answer was run instead: {asked.options[1]}"
    assert run.report_metadata["human_helped"] is True
    assert run.report_metadata["flaky"] is False
    assert asked.screenshot in [artifact.name for artifact in attempt.artifacts]
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await answer(client, run, "skip")
    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION


@in_module
async def test_watchers_see_the_question_open_and_close(served: Served) -> None:
    client = served.client
    execution_id = await client.start(ambiguous(served.shelf), run_config=asking())

    async def watched() -> list[bool]:
        events = client.stub.WatchExecution(pb.WatchExecutionRequest(execution_id=execution_id))
        return [event.run.HasField("question") async for event in events if event.HasField("run")]

    watching = asyncio.create_task(watched())
    run, asked = await question(client, execution_id)
    await answer(client, run, asked.options[1])
    await client.ended(execution_id)
    seen = await watching
    assert [one for one, then in zip(seen, [*seen[1:], None], strict=True) if one != then] == [False, True, False]


async def test_an_unanswered_question_fails_the_step(executor: Any, connect: Any, shelf: Shelf) -> None:
    async with executor(human_timeout_seconds=1.0) as app, connect(app.grpc_address) as client:
        execution_id = await client.start(ambiguous(shelf), run_config=asking())
        execution = await client.ended(execution_id)
        assert (execution.status, execution.success) == (execution_pb2.EXECUTION_STATUS_COMPLETED, False)
        [run] = await client.runs(execution_id)
        assert run.failure.category == execution_pb2.FAILURE_CATEGORY_SCRIPT_ERROR
        assert re.search(r"Nobody answered within [1-9]\d* s\.$", run.failure.message)  # 1 s, more on a slow machine
        assert not run.HasField("question")
        assert run.report_metadata["human_helped"] is False


@in_module
async def test_cancelling_does_not_wait_for_an_answer(served: Served) -> None:
    client = served.client
    execution_id = await client.start(ambiguous(served.shelf), run_config=asking())
    run, _ = await question(client, execution_id)
    await client.stub.CancelExecution(pb.CancelExecutionRequest(execution_id=execution_id))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await answer(client, run, "skip")
    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    execution = await client.ended(execution_id)
    assert execution.status == execution_pb2.EXECUTION_STATUS_CANCELLED


@in_module
async def test_a_new_attempt_asks_again(served: Served) -> None:
    client = served.client
    execution_id = await client.start(ambiguous(served.shelf), run_config=asking(retries=1))
    run, first = await question(client, execution_id)
    await answer(client, run, "fail", first.id)
    again, second = await question(client, execution_id, attempt=2)
    assert second.id != first.id
    await answer(client, again, second.options[1], second.id)
    assert (await client.ended(execution_id)).success
    [run] = await client.runs(execution_id)
    assert [attempt.success for attempt in run.attempts] == [False, True]


async def test_a_worker_that_shuts_down_while_asking_hands_the_run_back(
    executor: Any, connect: Any, shelf: Shelf
) -> None:
    async with executor(executor_role="api") as api, connect(api.grpc_address) as client:
        async with executor(executor_role="worker", shutdown_grace_seconds=5.0):
            execution_id = await client.start(ambiguous(shelf), run_config=asking())
            _, first = await question(client, execution_id)
        async with executor(executor_role="worker"):
            run, second = await question(client, execution_id, attempt=2)
            assert second.id != first.id
            await answer(client, run, second.options[1])
            assert (await client.ended(execution_id)).success
