"""Variables of workflows, starts and tests, and secrets: what a run gets, and that nothing shows their values."""

import asyncio
from typing import Any

import pytest
from pymongo import MongoClient

from tests.e2e.client import Api, created, fresh
from tests.e2e.world import World
from tests.query_plans import DATABASES
from tests.shared_infrastructure import SharedStack

CANARY = "c4nary-v4lue"
FLOW = """appId: com.example.demo
name: Variables
env:
  EMAIL: ${EMAIL || 'nobody@example.com'}
  COLOUR: ${COLOUR || 'red'}
---
- launchApp
- tapOn: Email
- inputText: ${PASSWORD}${API_TOKEN}
- eraseText
- inputText: ${EMAIL} ${COLOUR} ${CITY}
- assertVisible: ${PASSWORD}
"""


def repr_of_size(env: object) -> str:
    return repr(env)[:30]


async def run_of(api: Api, execution: Any) -> Any:
    listed = created(await api.get(f"/executions/{execution['id']}/runs"))["items"][0]
    return created(await api.get(f"/executions/{execution['id']}/runs/{listed['id']}"))


async def test_later_variables_override_earlier_ones_and_secrets_are_not_shown_anywhere(
    api: Api, world: World, stack: SharedStack
) -> None:
    """In REST, events, JUnit, artifacts, and (except the variables as they were sent) databases."""
    secret = created(await api.put("/secrets/staging-password", {"value": CANARY}))
    app, *_ = await world.passing_app()
    env = {"CITY": "Paris", "EMAIL": "test@example.com", "API_TOKEN": f"plain-{CANARY[1:]}"}
    test = created(await api.post("/tests", {"flow": FLOW, "env": env}))
    assert test["env"] == {**env, "API_TOKEN": "***"}
    await world.attach(app, test)
    workflow = await world.workflow(test, env={"CITY": "Oslo", "PASSWORD": "overridden"})
    assert workflow["env"] == {"CITY": "Oslo", "PASSWORD": "***"}
    reference = {"secret": "staging-password"}
    execution = await world.run(workflow, run_config={"env": {"PASSWORD": reference, "CITY": "Rome"}})

    shown = created(await api.get(f"/executions/{execution['id']}"))
    assert shown["run_config"]["env"] == {"CITY": "Rome", "PASSWORD": reference}
    run = await run_of(api, execution)
    steps = run["attempts"][-1]["steps"]
    assert steps[2]["text"] == 'inputText: "${PASSWORD}${API_TOKEN}"'
    assert steps[4]["text"] == 'inputText: "test@example.com red Paris"'
    assert (steps[-1]["status"], run["failure"]["category"]) == ("failed", "assertion_failed")

    artifacts = [artifact for attempt in run["attempts"] for artifact in attempt["artifacts"]]
    assert {"tree", "log"} <= {artifact["kind"] for artifact in artifacts}
    outputs = [
        secret,
        shown,
        run,
        created(await api.get("/secrets")),
        created(await api.get("/executions")),
        created(await api.get(f"/tests/{test['id']}")),
        created(await api.get(f"/workflows/{workflow['id']}")),
        await api.events(execution["id"]),
        await api.download(f"/api/v1/executions/{execution['id']}/junit.xml"),
        *[await api.download(artifact["url"]) for artifact in artifacts],
    ]
    assert [output for output in outputs if CANARY[1:] in repr(output)] == []
    assert await asyncio.to_thread(collections_with, stack, CANARY) == set()


def collections_with(stack: SharedStack, text: str) -> set[str]:
    """The collections that have the text in a document: entities, plans, results, events."""
    client: MongoClient[dict[str, Any]]
    with MongoClient(stack.mongo_uri) as client:
        collections = [
            client[database][name] for database in DATABASES for name in client[database].list_collection_names()
        ]
        return {
            collection.full_name
            for collection in collections
            if any(text.encode() in batch for batch in collection.find_raw_batches({}))
        }


async def test_a_run_whose_secret_is_gone_says_which(api: Api, world: World) -> None:
    created(await api.put("/secrets/gone", {"value": CANARY}))
    app, *_ = await world.passing_app()
    test = created(await api.post("/tests", {"flow": FLOW, "env": {"PASSWORD": {"secret": "gone"}}}))
    await world.attach(app, test)
    workflow = await world.workflow(test)
    assert (await api.delete("/secrets/gone")).status == 204
    assert (await api.delete("/secrets/gone")).status == 404
    run = await run_of(api, await world.run(workflow))
    assert run["failure"]["category"] == "config_invalid"
    assert 'The variable PASSWORD refers to the secret "gone", which does not exist' in run["failure"]["message"]


async def test_invalid_variables_and_secrets_are_refused_by_field(api: Api, world: World) -> None:
    test = await world.test()
    for env, field, says in (
        ({"output": "x"}, ["body", "env", "output"], "built-in variable"),
        ({"COUNT": 3}, ["body", "env", "COUNT"], 'write "3" in quotes'),
        ({"a-b": "x"}, ["body", "env"], '"a-b" is not a name'),
    ):
        answer = await api.post("/tests", {"name": fresh("T"), "steps": ["launchApp"], "env": env})
        assert (answer.status, answer.detail[0]["loc"]) == (422, field)
        assert says in answer.detail[0]["msg"]
    start = {"test_id": test["id"], "run_config": {"env": {"MAESTRO_APP_ID": "x"}}}
    answer = await api.post("/tests/execute", start)
    assert (answer.status, answer.detail[0]["loc"]) == (422, ["body", "run_config", "env", "MAESTRO_APP_ID"])
    for name, body in (("a%20b", {"value": "long enough"}), ("ok", {"value": "ab"}), ("ok", {})):
        assert (await api.put(f"/secrets/{name}", body)).status == 422


async def test_secrets_belong_to_one_organisation(api: Api, foreign: Api) -> None:
    created(await api.put("/secrets/mine", {"value": CANARY}))
    assert created(await foreign.get("/secrets"))["items"] == []
    assert (await foreign.delete("/secrets/mine")).status == 404
    [listed] = created(await api.get("/secrets"))["items"]
    assert (listed["name"], set(listed)) == ("mine", {"name", "updated_at"})


@pytest.mark.parametrize("name", ["%00", "..", "%2e%2e", "a%2Fb", "%ff", "x" * 101, "x" * 8000, "é", "a%0A", "-a"])
async def test_names_that_no_secret_can_have_are_refused(api: Api, name: str) -> None:
    for answer in (
        await api.put(f"/secrets/{name}", {"value": "long enough"}),
        await api.delete(f"/secrets/{name}"),
    ):
        assert 400 <= answer.status < 500
    assert created(await api.get("/secrets"))["total"] == 0


@pytest.mark.parametrize(
    "env",
    [
        [],
        "x",
        {"A": [[[[]]]]},
        {"A": {"secret": {"secret": "x"}}},
        {"A": "\ud800"},
        {"\ud800": "x"},
        {"\0": "x"},
        {f"N{number}": "x" for number in range(101)},
        {"A": "x" * 9000},
        {"A": 1e308},
    ],
    ids=repr_of_size,
)
async def test_variables_that_cannot_be_used_are_refused_everywhere(api: Api, world: World, env: Any) -> None:
    test = await world.test()
    for answer in (
        await api.post("/tests", {"name": "T", "steps": ["launchApp"], "env": env}),
        await api.patch(f"/tests/{test['id']}", {"env": env}),
        await api.post("/workflows", {"name": "W", "env": env}),
        await api.post("/workflows", {"name": "W", "run_config": {"env": env}}),
        await api.post("/tests/execute", {"test_id": test["id"], "run_config": {"env": env}}),
    ):
        assert answer.status in (400, 422), answer.text
        assert "env" in answer.text or answer.status == 400


async def test_texts_with_any_character_are_accepted(api: Api) -> None:
    value = "\0\n\t\u202e\U0001f600 'quoted' \"twice\" ${X} \\"
    test = created(await api.post("/tests", {"name": "T", "steps": ["launchApp"], "env": {"TEXT": value}}))
    assert created(await api.get(f"/tests/{test['id']}"))["env"] == {"TEXT": value}
    created(await api.put("/secrets/any", {"value": value}))
