"""An app whose screen attacks the CI system and the terminal that show the results of its tests."""

import json

import pytest

from mobiletest_cli.errors import FAILED
from tests.e2e.cli.conftest import Shell
from tests.hostile_texts import commands, controls

ATTACK = (
    "Total\n##vso[task.setvariable variable=PATH]/tmp\n::add-mask::a\n##teamcity[buildStop]\n##[error]x\n"
    "section_start:1:a\n--- folded\n+++ open"
)
MODEL = f"""app_model: 1
app: {{id: com.example.hostile, name: Hostile, version: 1.0.0}}
start: home
screens:
  home:
    elements:
      - {{type: text, id: total, text: {json.dumps(ATTACK)}}}
"""
FLOW = """appId: com.example.hostile
name: "::error::Pay ##vso[task.complete result=Succeeded]"
---
- launchApp
- copyTextFrom: {id: total}
- runScript: total.js
"""
SCRIPT = """console.log(maestro.copiedText)
throw new Error(maestro.copiedText + "\\u001b]52;c;eA==\\u0007\\u202e")
"""
FILES = ("--junit", "out.xml", "--report", "out.md")


@pytest.fixture
def hostile(shell: Shell) -> Shell:
    shell.write({"app.apk": MODEL, "flows/pay.yaml": FLOW, "flows/total.js": SCRIPT})
    return shell


async def test_a_hostile_app_gives_no_commands_to_ci_or_terminal(hostile: Shell) -> None:
    run = ("run", "--file", "app.apk", "--build", "1", "--retries", "0", *FILES, "flows")
    ended = await hostile.run(*run)
    assert ended.code == FAILED, ended.err
    execution = ended.err.split("/executions/", 1)[1].split()[0]
    outputs = {"out": ended.out, "err": ended.err}
    for name in ("out.xml", "out.md"):
        outputs[name] = (hostile.folder / name).read_text()
    for words in (
        f"logs {execution} --artifacts files",
        f"status {execution}",
        "executions",
        "tests list",
        "matrix",
        "failures list",
    ):
        for more in ([], ["--json"]):
            other = await hostile.ok(*words.split(), *more)
            outputs |= {f"{words} {more}": other.out, f"{words} {more} err": other.err}
    assert "task.setvariable variable=PATH]/tmp" in outputs["out"]
    attacked = {name: [*commands(text), *controls(text)] for name, text in outputs.items()}
    assert {name: commands for name, commands in attacked.items() if commands} == {}
    hostile.environ |= {"CI": "true", "GITHUB_ACTIONS": "true"}
    ended = await hostile.run(*run)
    (annotation,) = commands(ended.out)
    assert annotation.startswith(r"::error file=flows/pay.yaml,line=6,")
    assert r"title=\::error::Pay #\#vso[task.complete result=Succeeded] failed" in annotation.replace("%3A", ":")
