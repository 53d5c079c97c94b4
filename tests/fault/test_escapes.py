"""F35: steps, names and app models that try to run code on the worker, against real processes."""

import os
from pathlib import Path
from typing import Any

import pytest

from deploy.local.stack import Stack
from tests.e2e.client import Api, created, fresh
from tests.e2e.world import World
from tests.fault.conftest import on_the_stack
from tests.fault.counting import record

TRICKS = ("; touch {mark}", "$(touch {mark})", "`touch {mark}`", "| touch {mark} #", "\n touch {mark}\n")
SECRETS = ("${process.env.MOBILETEST_SERVICE_TOKEN}", "$MOBILETEST_SERVICE_TOKEN", "{{env.MOBILETEST_SERVICE_TOKEN}}")


def steps_with(trick: str) -> list[list[Any]]:
    """Tests with the malicious text in every place that takes text from an author."""
    quoted = trick.replace('"', "'").replace("\n", " ")
    return [
        [{"takeScreenshot": f"../../../../{trick}"}, {"assertVisible": "Log in"}],
        [{"inputText": trick}],
        [f'Type "{quoted}" into "User name"'],
        [f'Tap "{quoted}"'],
        [{"openLink": f"file:///etc/passwd{trick}"}],
        [{"launchApp": {"appId": f"com.example{trick}"}}],
        [{"pressKey": trick}],
        [{"tapOn": {"id": trick}}],
        [{"assertTrue": f"${{{trick}}}"}],
        [{"assertTrue": "${__import__('os').system('" + trick + "')}"}],
        [{"runFlow": {"file": f"../../../../etc/passwd{trick}"}}],
        [{"runFlow": {"when": {"visible": trick}, "commands": ["back"]}}],
        [{"evalScript": trick}],
        [{"shell": trick}],
    ]


def models(mark: Path) -> list[bytes]:
    """App models that would run code when they are parsed or executed."""
    head = "app_model: 1\napp: {id: com.example.evil}\nstart: home\nscreens:\n  home:\n    elements:\n"
    return [
        f"!!python/object/apply:os.system ['touch {mark}']\n".encode(),
        f"{head}      - !!python/object/apply:os.system ['touch {mark}']\n".encode(),
        f"""{head}      - {{type: text, text: "${{__import__('os').system('touch {mark}')}}"}}\n""".encode(),
        f"""{head}      - {{type: text, text: Log in, visible: "__import__('os').system('{mark}')"}}\n""".encode(),
        (head + "      - &a {type: text, text: x}\n" + "      - *a\n" * 50_000).encode(),
    ]


@on_the_stack
@pytest.mark.timeout(400)
async def test_nothing_that_an_author_writes_gets_out(
    own_stack: Stack, own_api: Api, own_world: World, state: Path
) -> None:
    """Each is rejected when it is created, or its run ends normally; no file is created and no secret is shown."""
    mark = state.parent / "touched"
    folder_before = set(os.listdir(state.parent))
    tricks = [trick.format(mark=mark) for trick in TRICKS] + list(SECRETS)
    app = await own_world.app()
    await own_world.build(app, "1.0.0")
    tests, refused = [], 0
    for steps in [steps for trick in tricks for steps in steps_with(trick)]:
        answer = await own_api.post("/tests", {"name": fresh("../../$(id)"), "steps": steps})
        assert answer.status in (200, 201, 422), answer.text
        if answer.status == 422:
            refused += 1
        else:
            await own_world.attach(app, answer.body)
            tests.append(answer.body)
    shown = await ran(own_api, own_world, tests)
    for model in models(mark):
        other = await own_world.app()
        answer = await own_api.upload(other["id"], model, version="1.0.0")
        assert answer.status in (200, 201, 422), answer.text
        if answer.status == 422:
            refused += 1
            continue
        test = await own_world.test(["launchApp", {"assertVisible": "Log in"}])
        await own_world.attach(other, test)
        tests.append(test)
        shown += await ran(own_api, own_world, [test])
    assert not mark.exists()
    assert set(os.listdir(state.parent)) == folder_before
    token = own_stack.tokens["executor-worker"]
    assert token not in shown
    assert "root:x:0" not in shown
    artifacts = state / "objects" / "runs"
    stored = [path for path in artifacts.rglob("*") if path.is_file()]
    assert stored
    assert all(len(path.relative_to(artifacts).parts) == 3 for path in stored)
    assert not any(token.encode() in path.read_bytes() for path in stored)
    own_stack.check()
    record("F35", "steps and app models that try to get out", tried=refused + len(tests), survived=refused + len(tests),
           refused_when_written=refused, run_and_ended=len(tests))  # fmt: skip


async def ran(api: Api, world: World, tests: list[Any]) -> str:
    """Run the tests; returns everything that the API shows of their runs."""
    execution = await world.run(await world.workflow(*tests), run_config={"execution_mode": {"retries": 0}})
    listed = created(await api.get(f"/executions/{execution['id']}/runs", params={"page_size": 500}))["items"]
    assert len(listed) == len(tests)
    texts = []
    for run in listed:
        answer = await api.get(f"/executions/{execution['id']}/runs/{run['id']}")
        texts.append(answer.text)
        assert answer.body["failure"] is None or answer.body["failure"]["category"] != "unknown", answer.text
        for attempt in answer.body["attempts"]:
            names = [artifact["name"] for artifact in attempt["artifacts"]]
            assert all(name.replace("-", "").replace(".", "").replace("_", "").isalnum() for name in names), names
    return "\n".join(texts)
