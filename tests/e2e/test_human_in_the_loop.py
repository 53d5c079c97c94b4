"""A run asks a person: the question over REST and server-sent events, its picture, and what answers do."""

import asyncio
from datetime import datetime
from typing import Any
from uuid import uuid4

from tests.e2e.client import Api, created
from tests.e2e.world import UNKNOWN, World
from tests.eventually import eventually

TWO_BUTTONS = b"""app_model: 1
app: {id: com.example.two}
state: {added: 0}
start: first
screens:
  first:
    elements:
      - {type: button, text: Add, tap: {add: {added: 1}}}
      - {type: button, text: Add, tap: {add: {added: 2}}}
      - {type: text, id: count, text: "Count {added}"}
"""
ASKING = {
    "execution_mode": {"human_in_the_loop": True, "retries": 0},
    "fallback_trigger": "never",
}
SECOND = 'tap the 2nd: button "Add"'


async def started(world: World, **test: Any) -> str:
    """The id of an execution whose only run is going to ask which button is meant."""
    app, made = await world.app(), await world.test(["Tap Add", 'I see "Count 2"'], **test)
    created(await world.api.upload(app["id"], TWO_BUTTONS, version="1.0.0"))
    await world.attach(app, made)
    execution = await world.start(await world.workflow(made), run_config=ASKING)
    return str(execution["id"])


async def asked(api: Api, execution_id: str) -> Any:
    """The run, once it asks."""

    async def probe() -> Any:
        (run,) = created(await api.get(f"/executions/{execution_id}/runs"))["items"]
        return run if run["question"] else None

    return await eventually(probe)


def input_of(run: Any) -> str:
    return f"/executions/{run['execution_id']}/runs/{run['id']}/input"


async def test_an_answer_over_rest_carries_the_run_on_and_watchers_see_it(api: Api, world: World) -> None:
    execution_id = await started(world)
    watching = asyncio.create_task(api.events(execution_id))
    run = await asked(api, execution_id)
    question = run["question"]
    assert question["text"].startswith("This step cannot continue: Tap Add\n")
    assert "2 elements match Add" in question["text"]
    assert question["options"] == ['tap the 1st: button "Add"', SECOND, "retry", "skip", "fail"]
    assert question["step_index"] == 0
    assert datetime.fromisoformat(question["asked_at"]) < datetime.fromisoformat(question["expires_at"])
    assert (await api.download(question["screenshot_url"])).startswith(b"\x89PNG")
    answer = await api.post(input_of(run), {"question_id": question["id"], "answer": SECOND})
    assert (answer.status, answer.body["id"], answer.body["question"]) == (202, run["id"], None)
    execution = await world.ended(execution_id)
    assert (execution["status"], execution["success"]) == ("completed", True)
    seen = [body["question"] for _, name, body in await watching if name == "run"]
    assert question in seen
    assert seen[-1] is None
    ended = created(await api.get(f"/executions/{execution_id}/runs/{run['id']}"))
    (attempt,) = ended["attempts"]
    assert attempt["steps"][0]["message"] == f"a person's answer was run instead: {SECOND}"
    assert (ended["report_metadata"]["human_helped"], ended["report_metadata"]["flaky"]) == (True, False)


async def test_what_cannot_be_answered_says_why(api: Api, world: World, foreign: Api) -> None:
    execution_id = await started(world)
    run = await asked(api, execution_id)
    path, key = input_of(run), {"Idempotency-Key": str(uuid4())}
    assert (await api.post(path, {"question_id": "another", "answer": "skip"})).status == 409
    assert (await api.post(path, {"answer": ""})).locations() == [["body", "answer"]]
    assert (await foreign.post(path, {"answer": "skip"})).status == 404
    assert (await api.post(path.replace(run["id"], UNKNOWN), {"answer": "skip"})).status == 404
    first = await api.post(path, {"answer": SECOND}, headers=key)
    again = await api.post(path, {"answer": SECOND}, headers=key)
    assert (first.status, again.status, again.body) == (202, 202, first.body)
    await world.ended(execution_id)
    assert (await api.post(path, {"answer": "skip"})).status == 409
