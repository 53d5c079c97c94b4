"""`mobiletest run --local` at a terminal, without a server."""

import re
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.e2e.cli.conftest import INHERITED, LOG_IN, ROOT
from tests.e2e.cli.terminal import Terminal, terminal

WAITING = "Ctrl-C to end."


@pytest.fixture
def flow(tmp_path: Path) -> Path:
    path = tmp_path / "flow.yaml"
    path.write_text(LOG_IN)
    return path


def run_local(flow: Path, *options: str) -> AbstractContextManager[Terminal]:
    program = [sys.executable, "-m", "mobiletest_cli", "run", "--local", "--device", "simulated", flow.name, *options]
    script = f'{" ".join(program)}; echo "ended with $?"'
    path = ":".join([str(ROOT / "cli"), str(ROOT / "automation")])
    return terminal(["bash", "-c", script], flow.parent, {**INHERITED, "PYTHONPATH": path})


def test_watch_runs_again_after_each_change_until_ctrl_c(flow: Path) -> None:
    failing = LOG_IN.replace("assertVisible: Log in", "assertTrue: ${false}")
    with run_local(flow, "--watch", "--artifacts", "kept") as shown:
        assert "1 passed of 1 run." in shown.wait_for(WAITING)
        flow.write_text(LOG_IN.replace("assertVisible", "assertvisible"))
        assert 'unknown command "assertvisible"' in shown.wait_for(WAITING)
        for text in (failing, f"{failing}- back\n"):
            flow.write_text(text)
            assert "1 failed of 1 run." in shown.wait_for(WAITING)
        assert len([*flow.parent.joinpath("kept").iterdir()]) == 1
        shown.press("\x03")
        shown.wait_for("ended with 1")


def test_interactive_repairs_a_flow_while_it_runs(flow: Path) -> None:
    asked, worked = "Enter shows the screen again.", "or go on without."
    head = "appId: com.example.shop\n---\n- launchApp\n"
    flow.write_text(f"{head}# the button\n- tapOn: Nothing\n\n- assertVisible: No basket\n")
    (flow.parent / "mobiletest.yaml").write_text("timeout: 1\n")  # which nobody has who types
    with run_local(flow, "--interactive") as shown:
        assert 'button "Log in"' in shown.wait_for(asked)
        shown.press("tapOn: Log in\n")
        shown.wait_for(worked)
        shown.press("replace\n")
        assert "This step cannot continue: assertVisible" in shown.wait_for(asked)
        shown.press("skip\n")
        ended = shown.wait_for("ended with 7")
        assert "passed with help" in ended
        assert "A person helped, so this says nothing of the flow as it was written." in ended
    assert flow.read_text() == f"{head}# the button\n- tapOn: Log in\n\n- assertVisible: No basket\n"


def test_a_breakpoint_stops_in_a_step(flow: Path) -> None:
    """As the page for developers says, from the root of the repository."""
    flow.write_text("appId: com.example.shop\n---\n- launchApp\n- tapOn: Email\n")
    page = (ROOT / "docs" / "development.md").read_text()
    [command] = re.findall(r"^PYTHONPATH=cli .*", page, re.M)
    command = command.replace(".venv/bin/python", sys.executable).replace("flow.yaml", str(flow))
    with terminal(["bash", "-c", command], ROOT, INHERITED) as shown:
        shown.wait_for("commands/touch.py(66)")
        shown.press("c\n")
        assert "1 passed of 1 run." in shown.wait_for("The program")


def test_ctrl_c_ends_an_interactive_run(flow: Path) -> None:
    flow.write_text("appId: com.example.shop\n---\n- launchApp\n- tapOn: Nothing\n")
    with run_local(flow, "--interactive") as shown:
        shown.wait_for(">")
        shown.press("\x03")
        shown.wait_for("ended with 130")
