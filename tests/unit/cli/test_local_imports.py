"""What a run without a server imports: its first result takes a second of CPU, most of which are imports."""

import os
import subprocess
import sys
from pathlib import Path

from tests.unit.cli.local_shell import PASSING

# What needs a server, a script, a phone, or the metadata of packages.
FOR_OTHERS = frozenset(
    {"attr", "email.parser", "faker", "httpx", "http.client", "importlib.metadata", "rich.traceback", "wasmtime"}
)
RUN = """
import sys
from mobiletest_cli.app import run_command

code = run_command(["run", "--local", "--device", "simulated", sys.argv[1]])
from mobiletest_automation.sentences.shape import Shape

compiled = sum("compiled" in vars(shape) for shape in Shape._all)
print(code, compiled, len(Shape._all), *sys.modules, file=open(sys.argv[2], "w"))
"""
PRELOAD = """
import sys
import mobiletest_automation.preloaded
from mobiletest_automation.sentences.shape import Shape

compiled = sum("compiled" in vars(shape) for shape in Shape._all)
print(compiled, len(Shape._all), *sys.modules)
"""


def _python(source: str, *arguments: str) -> str:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-c", source, *arguments], env=environ, capture_output=True, text=True, check=True
    ).stdout


def test_a_flow_without_scripts_imports_nothing_for_servers_and_scripts(tmp_path: Path) -> None:
    flow, written = tmp_path / "flow.yaml", tmp_path / "written"
    flow.write_text(PASSING)
    _python(RUN, str(flow), str(written))
    code, compiled, shapes, *modules = written.read_text().split()
    assert code == "0"
    assert FOR_OTHERS & set(modules) == set()
    assert {"mobiletest_automation.attempt", "yaml"} <= set(modules)
    assert (compiled, int(shapes) > 100) == ("0", True)  # the flow has no sentence


def test_the_fork_server_of_attempts_has_all_of_it() -> None:
    compiled, shapes, *modules = _python(PRELOAD).split()
    assert compiled == shapes != "0"
    assert {"wasmtime", "mobiletest_automation.scripting.instance"} <= set(modules)
