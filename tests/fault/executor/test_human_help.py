"""A worker dies or shuts down while its run asks a person: the question is closed, and the next worker asks again."""

import signal
from typing import Any

import grpc
import pytest

from tests.eventually import eventually
from tests.fault.executor.conftest import LEASE_SECONDS, Workers
from tests.integration.executor.catalog_server import Shelf
from tests.integration.executor.human_answers import AMBIGUOUS, TWO_BUTTONS, answer, asking, question


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_a_question_ends_with_its_worker_and_is_asked_again(
    executor: Any, connect: Any, shelf: Shelf, workers: Workers, how: signal.Signals
) -> None:
    workflow_id = shelf.workflow(shelf.planned(AMBIGUOUS, build_id=shelf.build(TWO_BUTTONS)))
    async with executor(executor_role="api", lease_seconds=LEASE_SECONDS) as app, connect(app.grpc_address) as client:
        [name] = await workers.start_ready()
        execution_id = await client.start(workflow_id, run_config=asking())
        run, first = await question(client, execution_id)
        await workers.end(name, how)

        async def gone() -> bool:
            [now] = await client.runs(execution_id)
            return not now.HasField("question")

        _: bool = await eventually(gone)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await answer(client, run, "skip", first.id)
        assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
        await workers.start()
        again, second = await question(client, execution_id, attempt=2)
        assert second.id != first.id
        await answer(client, again, "skip", second.id)
        assert (await client.ended(execution_id)).success
