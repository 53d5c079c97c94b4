"""Maestro files through the API: created, shown as steps, run, refused with line and column."""

from hashlib import sha256
from typing import Any

import pytest

from tests.e2e.client import Api, created, fresh
from tests.e2e.world import World

FLOW = """appId: com.example.demo
name: From a file
tags: [maestro]
env:
  EMAIL: ada@example.com
onFlowStart:
  - launchApp: {clearState: true}
---
- tapOn: Email
- inputText: ${EMAIL}
- copyTextFrom: {id: email}
- assertTrue: ${maestro.copiedText == EMAIL}
- runFlow:
    when: {platform: Android}
    commands:
      - setOrientation: LANDSCAPE_LEFT
"""


async def test_a_maestro_file_is_a_test_that_runs(api: Api, world: World) -> None:
    app, *_ = await world.passing_app()
    test = created(await api.post("/tests", {"flow": FLOW}))
    assert (test["name"], test["tags"], test["version_number"]) == ("From a file", ["maestro"], 1)
    assert test["steps"][0]["env"] == {"EMAIL": "ada@example.com"}
    assert [next(iter(step)) for step in test["steps"][1:]] == [
        "tapOn",
        "inputText",
        "copyTextFrom",
        "assertTrue",
        "runFlow",
    ]
    await world.attach(app, test)
    execution = await world.run(await world.workflow(test))
    listed = created(await api.get(f"/executions/{execution['id']}/runs"))["items"][0]
    run = created(await api.get(f"/executions/{execution['id']}/runs/{listed['id']}"))
    steps = run["attempts"][-1]["steps"]
    assert execution["success"], run["failure"]
    assert [step["kind"] for step in steps][:3] == ["launchApp", "tapOn", "inputText"]
    assert steps[2]["text"] == 'inputText: "ada@example.com"'
    assert steps[3]["message"] == 'copied "ada@example.com"'


async def test_a_file_replaces_the_steps_of_a_test(api: Api, world: World) -> None:
    test = await world.test()
    edited = created(await api.patch(f"/tests/{test['id']}", {"flow": FLOW}))
    assert (edited["version_number"], edited["name"], len(edited["steps"])) == (2, test["name"], 6)


async def test_files_that_a_file_runs_come_along(api: Api) -> None:
    files = [{"path": "sub/log-in.yaml", "text": "env: {A: x}\n---\n- tapOn: ${A}"}]
    flow = "- launchApp\n- runFlow: sub/log-in.yaml"
    test = created(await api.post("/tests", {"name": fresh("T"), "flow": flow, "flow_files": files}))
    run = {"label": "sub/log-in.yaml", "env": {"A": "x"}, "commands": [{"tapOn": "${A}"}]}
    assert test["steps"] == ["launchApp", {"runFlow": run}]
    alone = await api.patch(f"/tests/{test['id']}", {"flow": "- runFlow: sub/log-in.yaml"})
    assert (alone.status, alone.detail[0]["loc"]) == (422, ["body", "flow"])


async def test_scripts_come_along_and_run(api: Api, world: World) -> None:
    files = [{"path": "scripts/user.js", "text": "output.email = `${NAME}@example.com`;\nconsole.log(output.email)"}]
    flow = """appId: com.example.demo
---
- launchApp
- runScript: {file: scripts/user.js, env: {NAME: ada}}
- tapOn: Email
- inputText: ${output.email.toUpperCase()}
- assertVisible: ADA@EXAMPLE.COM
- runScript: {file: scripts/user.js, env: {NAME: "${NOBODY}"}, optional: true}
- http: nothing
"""
    refused = await api.post("/tests", {"name": fresh("T"), "flow": flow, "flow_files": files})
    assert refused.detail[0]["msg"].startswith("line 9, column 3 ")
    flow = flow.replace("- http: nothing", "- evalScript: ${http.get('http://169.254.169.254/')}")
    app, *_ = await world.passing_app()
    test = created(await api.post("/tests", {"name": fresh("T"), "flow": flow, "flow_files": files}))
    await world.attach(app, test)
    execution = await world.run(await world.workflow(test))
    listed = created(await api.get(f"/executions/{execution['id']}/runs"))["items"][0]
    run = created(await api.get(f"/executions/{execution['id']}/runs/{listed['id']}"))
    steps = run["attempts"][-1]["steps"]
    assert (steps[1]["kind"], steps[1]["message"]) == ("runScript", "ada@example.com")
    assert [step["status"] for step in steps[:5]] == ["passed"] * 5
    assert "http: not available here: the organisation has no hosts (limit script_hosts)" in steps[-1]["message"]


async def test_a_file_is_refused_with_line_and_column(api: Api) -> None:
    answer = await api.post("/tests", {"name": fresh("T"), "flow": FLOW + "- evalScript: ${1\n- tapp: x\n"})
    assert answer.status == 422
    assert [each["loc"] for each in answer.detail] == [["body", "flow"]] * 2
    assert answer.detail[0]["msg"].startswith("line 17, column 15")
    assert "did you mean tapOn?" in answer.detail[1]["msg"]


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({"name": "T"}, ["body", "steps"]),
        ({"steps": ["back"]}, ["body", "name"]),
        ({"flow": "- back"}, ["body", "name"]),
        ({"name": "T", "flow": "- back", "steps": ["back"]}, ["body", "flow"]),
        ({"name": "T", "steps": [{"appId": "a", "env": []}, "back"]}, ["body", "steps", 0, "env"]),
        (
            {"name": "T", "steps": [{"onFlowStart": ["back", {"tapp": 1}]}, "back"]},
            ["body", "steps", 0, "onFlowStart", 1, "tapp"],
        ),
    ],
)
async def test_what_is_missing_or_wrong_is_named(api: Api, body: dict[str, object], loc: list[str | int]) -> None:
    answer = await api.post("/tests", body)
    assert (answer.status, answer.detail[0]["loc"]) == (422, loc)


async def test_an_accepted_screenshot_is_the_baseline_of_later_runs(api: Api, world: World) -> None:
    app, *_ = await world.passing_app()
    test = created(await api.post("/tests", {"name": fresh("T"), "steps": ["launchApp", {"assertScreenshot": "home"}]}))
    await world.attach(app, test)
    workflow = await world.workflow(test)
    run = await run_of(api, await world.run(workflow, run_config={"retries": 0}))
    assert 'there is no baseline "home.png" for android-' in run["failure"]["message"]
    artifact = next(each for each in run["attempts"][0]["artifacts"] if each["name"].endswith("-actual.png"))
    url = artifact["url"].removeprefix("/api/v1")
    accepted = created(await api.post(f"{url}/accept", {}))
    assert (accepted["test_id"], accepted["size_bytes"]) == (test["id"], artifact["size_bytes"])
    assert (await world.run(workflow))["success"]
    other = next(each for each in run["attempts"][0]["artifacts"] if each["name"] != artifact["name"])
    refused = await api.post(f"{other['url'].removeprefix('/api/v1')}/accept", {})
    assert (refused.status, refused.body["code"]) == (422, "NOT_A_BASELINE")
    await check_deletion(api, accepted)
    assert not (await world.run(workflow, run_config={"retries": 0}))["success"]


async def check_deletion(api: Api, accepted: Any) -> None:
    """The accepted baseline is listed and downloaded, deleted once, and then gone; the limits show its bytes."""
    url = f"/tests/{accepted['test_id']}/baselines"
    assert created(await api.get(url))["items"] == [accepted]
    limits = {each["name"]: each["used"] for each in created(await api.get("/settings/limits"))["limits"]}
    assert limits["baseline_bytes"] >= accepted["size_bytes"]
    picture = await api.download(f"/api/v1{url}/{accepted['key']}")
    assert sha256(picture).hexdigest() == accepted["sha256"]
    assert [(await api.delete(f"{url}/{accepted['key']}")).status for _ in range(2)] == [204, 404]
    assert (await api.get(f"{url}/{accepted['key']}")).status == 404
    assert created(await api.get(url))["total"] == 0


async def run_of(api: Api, execution: Any) -> Any:
    """The only run of an execution, with its attempts."""
    listed = created(await api.get(f"/executions/{execution['id']}/runs"))["items"][0]
    return created(await api.get(f"/executions/{execution['id']}/runs/{listed['id']}"))
