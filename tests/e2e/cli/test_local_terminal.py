"""`mobiletest run --local` at a terminal, without a server."""

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


def run_local(flow: Path, option: str) -> AbstractContextManager[Terminal]:
    program = [sys.executable, "-m", "mobiletest_cli", "run", "--local", "--device", "simulated", flow.name, option]
    script = f'{" ".join(program)}; echo "ended with $?"'
    path = ":".join([str(ROOT / "cli"), str(ROOT / "automation")])
    return terminal(["bash", "-c", script], flow.parent, {**INHERITED, "PYTHONPATH": path})


def test_watch_runs_again_after_each_change_until_ctrl_c(flow: Path) -> None:
    with run_local(flow, "--watch") as shown:
        assert "1 passed of 1 run." in shown.wait_for(WAITING)
        flow.write_text(LOG_IN.replace("assertVisible", "assertvisible"))
        assert 'unknown command "assertvisible"' in shown.wait_for(WAITING)
        flow.write_text(LOG_IN.replace("assertVisible: Log in", "assertTrue: ${false}"))
        assert "1 failed of 1 run." in shown.wait_for(WAITING)
        shown.press("\x03")
        shown.wait_for("ended with 1")
