"""Variables of workflows, starts and tests, and secrets: what a run gets, and that nothing shows their values."""

import asyncio
from typing import Any

from pymongo import MongoClient

from tests.e2e.client import Api, created
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
- eraseText
- inputText: ${LOGIN}
- assertVisible: ${PASSWORD}
"""


async def test_later_variables_override_earlier_ones_and_secrets_are_not_shown_anywhere(
    api: Api, world: World, stack: SharedStack
) -> None:
    """In REST, events, JUnit, artifacts, and (except the variables as they were sent) databases."""
    secret = created(await api.put("/secrets/staging-password", {"value": CANARY}))
    app, *_ = await world.passing_app()
    login = {"value": f"login-{CANARY[1:]}", "secret": True, "variant": False}
    env = {"CITY": "Paris", "EMAIL": "test@example.com", "API_TOKEN": f"plain-{CANARY[1:]}", "LOGIN": login}
    test = created(await api.post("/tests", {"flow": FLOW, "env": env}))
    assert test["env"] == {**env, "API_TOKEN": "***", "LOGIN": {**login, "value": "***"}}
    await world.attach(app, test)
    workflow = await world.workflow(test, env={"CITY": "Oslo", "PASSWORD": "overridden"})
    assert workflow["env"] == {"CITY": "Oslo", "PASSWORD": "***"}
    reference = {"secret": "staging-password"}
    execution = await world.run(workflow, run_config={"env": {"PASSWORD": reference, "CITY": "Rome"}})

    shown = created(await api.get(f"/executions/{execution['id']}"))
    assert shown["run_config"]["env"] == {"CITY": "Rome", "PASSWORD": reference}
    run = await world.only_run(execution)
    steps = run["attempts"][-1]["steps"]
    assert steps[2]["text"] == 'inputText: "${PASSWORD}${API_TOKEN}"'
    assert steps[4]["text"] == 'inputText: "test@example.com red Paris"'
    assert steps[6]["text"] == 'inputText: "${LOGIN}"'
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
