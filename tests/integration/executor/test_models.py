"""Models in the whole executor: conversations, the step cache across executions and workers, and extra attempts."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from mobiletest.executor.v1 import executions_pb2 as pb
from mobiletest.executor.v1 import runs_pb2
from mobiletest.types.v1 import execution_pb2, run_config_pb2

from mobiletest_automation.model.attempts import AttemptMode
from services.executor.storage.schema import RUNS
from tests.fakes.llm import FakeEndpoint
from tests.fakes.shopper import shopper
from tests.integration.executor.catalog_server import Shelf

SHOP = Path("examples/shop-android/1.0.0.yaml").read_text()
REBUILT = SHOP.replace("id: log_in\n        text: Log in", "id: submit\n        text: Log in")
SIGN_IN = "Sign in as ada@example.com with the password lovelace, please"
GOAL = "Buy a blue mug as ada@example.com with the password lovelace"
PLANNING = run_config_pb2.RunConfig(execution_mode=run_config_pb2.ExecutionMode(enable_planning=True))
STEPS = (SIGN_IN, "Have a look at the blue mug: choose the blue mug", 'I see "Add to cart"')


@pytest.fixture
async def endpoint() -> AsyncIterator[FakeEndpoint]:
    async with AsyncExitStack() as stack:
        served = await stack.enter_async_context(FakeEndpoint().serving())
        served.mind = shopper
        yield served


@pytest.fixture
def model(endpoint: FakeEndpoint) -> dict[str, str]:
    """Settings of an executor that asks the endpoint."""
    return {"llm_base_url": endpoint.url, "llm_primary_model": "main"}


def config(**fields: Any) -> Any:
    return run_config_pb2.RunConfig(execution_mode=run_config_pb2.ExecutionMode(retries=0), **fields)


def calls_of(run: runs_pb2.Run) -> list[int]:
    """How often a model was asked, by attempts."""
    return [sum(step.model_calls for step in attempt.steps) for attempt in run.attempts]


async def test_the_second_run_on_another_worker_calls_no_model(
    executor: Any, connect: Any, shelf: Shelf, endpoint: FakeEndpoint, model: dict[str, str]
) -> None:
    workflow_id = shelf.workflow(shelf.planned(*STEPS, build_id=shelf.build(SHOP.encode())))
    asked = []
    for _ in range(2):
        async with executor(**model) as app, connect(app.grpc_address) as client:
            execution_id = await client.start(workflow_id, run_config=config())
            assert (await client.ended(execution_id)).success
            [run] = await client.runs(execution_id)
            asked.append((len(endpoint.asked), calls_of(run)))
    (first, [calls]), (second, again) = asked
    assert first == calls > 0
    assert (second, again) == (first, [0])
    assert [step.cache for step in run.attempts[0].steps[:2]] == [runs_pb2.CACHE_OUTCOME_HIT] * 2


async def test_a_failed_cached_action_earns_one_attempt_without_the_cache(
    executor: Any, connect: Any, shelf: Shelf, model: dict[str, str], mongo_client: Any, mongo_database: str
) -> None:
    first = shelf.planned(SIGN_IN, build_id=shelf.build(SHOP.encode()))
    then = shelf.planned(SIGN_IN, build_id=shelf.build(REBUILT.encode()))
    then.app.id = first.app.id
    rerun = config(cache_retry_mode=run_config_pb2.CACHE_RETRY_MODE_FULL_RERUN)
    async with executor(**model) as app, connect(app.grpc_address) as client:
        assert (await client.ended(await client.start(shelf.workflow(first), run_config=rerun))).success
        execution_id = await client.start(shelf.workflow(then), run_config=rerun)
        assert (await client.ended(execution_id)).success
        [run] = await client.runs(execution_id)
    assert [attempt.success for attempt in run.attempts] == [False, True]
    assert run.attempts[0].failure.category == execution_pb2.FAILURE_CATEGORY_ELEMENT_NOT_FOUND
    assert run.report_metadata["flaky"] is False
    stored = mongo_client[mongo_database][RUNS].find_one({"_id": run.id})
    assert [attempt["mode"] for attempt in stored["attempts"]] == [AttemptMode.USUAL, AttemptMode.UNCACHED]


async def test_a_model_is_asked_only_after_the_last_failure(
    executor: Any, connect: Any, shelf: Shelf, endpoint: FakeEndpoint, model: dict[str, str]
) -> None:
    workflow_id = shelf.workflow(shelf.planned(SIGN_IN, build_id=shelf.build(SHOP.encode())))
    final = config(fallback_trigger=run_config_pb2.FALLBACK_TRIGGER_FINAL_FAIL)
    async with executor(**model) as app, connect(app.grpc_address) as client:
        execution_id = await client.start(workflow_id, run_config=final)
        assert (await client.ended(execution_id)).success
        [run] = await client.runs(execution_id)
    assert calls_of(run) == [0, len(endpoint.asked)]
    assert [attempt.success for attempt in run.attempts] == [False, True]
    assert run.report_metadata["flaky"] is False


async def test_a_goal_calls_the_model_once_and_stores_the_conversation(
    executor: Any, connect: Any, shelf: Shelf, endpoint: FakeEndpoint, model: dict[str, str]
) -> None:
    planned = shelf.planned(GOAL, build_id=shelf.build(SHOP.encode()))
    planned.app.system_prompt = "The key is sk-secret"
    workflow_id = shelf.workflow(planned)
    async with (
        executor(**model, llm_api_key="sk-secret", llm_planning_model="large") as app,
        connect(app.grpc_address) as client,
    ):
        first_id = await client.start(workflow_id, run_config=PLANNING)
        assert (await client.ended(first_id)).success
        [first] = await client.runs(first_id)
        asked = len(endpoint.asked)
        second_id = await client.start(workflow_id, run_config=PLANNING)
        assert (await client.ended(second_id)).success
        [second] = await client.runs(second_id)
        [transcript] = [each for each in first.attempts[-1].artifacts if each.kind == "transcript"]
        request = pb.DownloadArtifactRequest(execution_id=first_id, run_id=first.id, artifact_name=transcript.name)
        content = b"".join([chunk.data async for chunk in client.stub.DownloadArtifact(request)])
    assert (calls_of(first), calls_of(second), len(endpoint.asked)) == ([asked], [0], asked)
    assert {question["model"] for question in endpoint.asked} == {"large"}
    assert set(endpoint.keys) == {"Bearer sk-secret"}
    assert [step.depth for step in first.attempts[-1].steps] == [0, *[1] * 10]
    assert b"Buy a blue mug" in content
    assert b"The key is [hidden]" in content
    assert b"sk-secret" not in content
    assert transcript.size_bytes == len(content)
