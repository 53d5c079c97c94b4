"""Models in the whole executor: settings, reported costs, and the step cache across runs."""

from pathlib import Path
from typing import Any

from mobiletest.executor.v1 import executions_pb2 as pb
from mobiletest.executor.v1 import runs_pb2
from mobiletest.types.v1 import run_config_pb2

from tests.fakes.llm import FakeEndpoint
from tests.fakes.shopper import shopper
from tests.integration.executor.catalog_server import Shelf

SHOP = Path("examples/shop-android/1.0.0.yaml").read_bytes()
GOAL = "Buy a blue mug as ada@example.com with the password lovelace"
PLANNING = run_config_pb2.RunConfig(execution_mode=run_config_pb2.ExecutionMode(enable_planning=True))


def calls_of(run: runs_pb2.Run) -> int:
    return sum(step.model_calls for step in run.attempts[-1].steps)


async def test_a_goal_calls_the_model_once_and_stores_the_conversation(
    executor: Any, connect: Any, shelf: Shelf
) -> None:
    planned = shelf.planned(GOAL, build_id=shelf.build(SHOP))
    planned.app.system_prompt = "The key is sk-secret"
    workflow_id = shelf.workflow(planned)
    async with FakeEndpoint(mind=shopper).serving() as endpoint:
        models = {"llm_base_url": endpoint.url, "llm_api_key": "sk-secret", "llm_primary_model": "small"}
        async with executor(**models, llm_planning_model="large") as app, connect(app.grpc_address) as client:
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
    assert (calls_of(first), calls_of(second), len(endpoint.asked)) == (asked, 0, asked)
    assert {question["model"] for question in endpoint.asked} == {"large"}
    assert set(endpoint.keys) == {"Bearer sk-secret"}
    assert [step.depth for step in first.attempts[-1].steps] == [0, *[1] * 10]
    assert b"Buy a blue mug" in content
    assert b"The key is [hidden]" in content
    assert b"sk-secret" not in content
    assert transcript.size_bytes == len(content)
