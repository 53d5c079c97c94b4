"""A run asks a person over gRPC, and again in its next attempt; cancelling it does not wait for an answer."""

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
