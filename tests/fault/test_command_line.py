"""The command line while the gateway is killed, and with a server of its own."""

import asyncio
from pathlib import Path

from deploy.local.stack import Stack
from mobiletest_cli.errors import FAILED, OK
from tests.e2e.cli.conftest import ROOT, Shell
from tests.e2e.cli.test_run import BROKEN, LOG_IN
from tests.e2e.world import paced_app_model


async def test_a_wait_survives_a_gateway_that_is_killed(own_stack: Stack, tmp_path: Path) -> None:
    """Killed in the middle of the execution, and started again: the verdict is that of the tests."""
    shell = Shell(tmp_path, {"MOBILETEST_URL": own_stack.url, "MOBILETEST_API_KEY": own_stack.api_key})
    shell.write({".maestro/slow.yaml": "appId: a\nname: Slow\n---\n- launchApp\n" + "- assertVisible: Log in\n" * 20})
    (tmp_path / "app.apk").write_bytes(paced_app_model(seconds=0.5))
    process = await shell.start("run", "--app", "app.apk", "--build", "1")
    assert process.stderr is not None
    printed = ""
    while "Slow: running" not in printed:
        printed += (await asyncio.wait_for(process.stderr.readline(), 60)).decode()
    await own_stack.kill("gateway")
    await own_stack.start("gateway")
    out, err = await process.communicate()
    assert process.returncode == OK, (printed, err.decode())
    assert "Gate: Passed: the only run passed." in out.decode()


async def test_a_local_server_serves_one_command(tmp_path: Path) -> None:
    """Nothing else is needed, its exit code is that of the run, and nothing is left running."""
    shell = Shell(tmp_path, {"MOBILETEST_CHECKOUT": str(ROOT)})
    shell.write({".maestro/a.yaml": LOG_IN, ".maestro/b.yaml": BROKEN, "app.apk": "app"})
    ended = await shell.run("run", "--local", "--app", "app.apk", "--build", "1", "--json")
    assert ended.code == FAILED, ended.err
    assert {run["test_name"]: run["success"] for run in ended.document["runs"]} == {
        "Log in": True,
        "Open the basket": False,
    }
    passed = await shell.run("run", "--local", "--app", "app.apk", "--build", "1", "--tag", "smoke", "--quiet")
    assert passed.code == OK, passed.err
