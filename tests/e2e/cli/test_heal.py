"""A step whose element has changed, from the failed run to the new version of the test."""

import pytest

from mobiletest_cli.errors import FAILED, USAGE
from tests.e2e.cli.conftest import Shell
from tests.e2e.test_healing import app_model

FLOW = "appId: com.example.pay\nname: Pay\n---\n- launchApp\n- tapOn: Pay\n- assertVisible: Thank you\n"


async def run(shell: Shell, version: str) -> str:
    """The id of an execution of the flow."""
    ended = await shell.run("run", "--file", "app.yaml", "--build", version, "--app", "Payments", "--json")
    return str(ended.document["execution"]["id"])


@pytest.fixture
async def failed(shell: Shell) -> str:
    await shell.ok("apps", "create", "Payments", "--platform", "Android")
    shell.write({".maestro/pay.yaml": FLOW, "app.yaml": app_model("Pay").decode()})
    await run(shell, "1.0")
    shell.write({"app.yaml": app_model("Buy now").decode()})
    return await run(shell, "2.0")


async def test_a_step_is_checked_shown_and_written_when_a_person_accepts_it(shell: Shell, failed: str) -> None:
    flow = shell.folder / ".maestro/pay.yaml"
    shown = await shell.ok("heal", failed, "--file", ".maestro/pay.yaml")
    assert "-- tapOn: Pay\n+- tapOn: Buy now" in shown.out
    assert flow.read_text() == FLOW
    waited = await shell.run("wait", failed, "--report", "report.md")
    assert waited.code == FAILED
    assert "-- tapOn: Pay\n+- tapOn: Buy now" in (shell.folder / "report.md").read_text()
    refused = await shell.run("heal", failed, "--accept")
    assert (refused.code, "--file" in refused.err) == (USAGE, True)
    await shell.ok("heal", failed, "Pay", "--file", ".maestro/pay.yaml", "--accept")
    assert flow.read_text() == FLOW.replace("tapOn: Pay", "tapOn: Buy now")
    assert (await run(shell, "2.1")) != failed


async def test_a_failure_without_a_proposal_says_why(shell: Shell, failed: str) -> None:
    shell.write({"app.yaml": app_model("Pay", thanks=False).decode()})
    execution = await run(shell, "3.0")
    ended = await shell.run("heal", execution)
    assert (ended.code, "nothing is proposed: " in ended.out) == (FAILED, True)
