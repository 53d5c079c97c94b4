"""Maestro files through the API: created, shown as steps, run, refused with line and column."""

from hashlib import sha256
from typing import Any

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
    run = await world.only_run(execution)
    steps = run["attempts"][-1]["steps"]
    assert execution["success"], run["failure"]
    assert [step["kind"] for step in steps][:3] == ["launchApp", "tapOn", "inputText"]
    assert steps[2]["text"] == 'inputText: "ada@example.com"'
    assert steps[3]["message"] == 'copied "ada@example.com"'


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
    test = await world.test(flow=flow, flow_files=files, app=app)
    execution = await world.run(await world.workflow(test))
    run = await world.only_run(execution)
    steps = run["attempts"][-1]["steps"]
    assert (steps[1]["kind"], steps[1]["message"]) == ("runScript", "ada@example.com")
    assert [step["status"] for step in steps[:5]] == ["passed"] * 5
    assert "http: not available here: the organisation has no hosts (limit script_hosts)" in steps[-1]["message"]


async def test_an_accepted_screenshot_is_the_baseline_of_later_runs(api: Api, world: World) -> None:
    app, *_ = await world.passing_app()
    test = await world.test(["launchApp", {"assertScreenshot": "home"}], app=app)
    workflow = await world.workflow(test)
    run = await world.only_run(await world.run(workflow, run_config={"retries": 0}))
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
