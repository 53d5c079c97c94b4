"""The step language has no shell, and no module that executes steps can start a program or evaluate code."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mobiletest_automation.flows.loader import load_flow
from mobiletest_automation.flows.nodes import DocumentError

ROOT = Path(__file__).parents[3]
# But for what starts functions of our own modules, whose names no tenant gives, and their fork server.
SOURCES = sorted(
    path
    for folder in ("services/executor", "automation/mobiletest_automation", "services/chassis")
    for path in (ROOT / folder).rglob("*.py")
    if path.name not in ("child_process.py", "process_isolation.py")
)
MODULES = {"subprocess", "pty", "multiprocessing", "ctypes", "cffi", "code", "codeop", "runpy", "pickle", "marshal"}
CALLS = {"eval", "exec", "compile", "__import__"}
ATTRIBUTES = {"create_subprocess_exec", "create_subprocess_shell"}
ATTRIBUTES |= {"unsafe_load", "full_load", "UnsafeLoader", "FullLoader"}
# A module without any of them is not parsed.
WORDS = re.compile(rf"\b(?:os|{'|'.join(MODULES | CALLS | ATTRIBUTES)})\b")
OF_OS = ("system", "popen", "fork", "posix_spawn", "exec", "spawn")


def found(tree: ast.AST) -> Iterator[str]:
    """The places in a module that could start a program or evaluate code."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names if name.name.partition(".")[0] in MODULES)
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] in MODULES:
                yield module
            case ast.Call(func=ast.Name(id=name)) if name in CALLS:
                yield name
            case ast.Attribute(attr=name) if name in ATTRIBUTES:
                yield name
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name.startswith(OF_OS):
                yield f"os.{name}"


def test_no_module_starts_a_program_or_runs_text() -> None:
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in SOURCES}
    assert len(texts) > 100
    by_module = {module: list(found(ast.parse(text))) for module, text in texts.items() if WORDS.search(text)}
    assert {module: names for module, names in by_module.items() if names} == {}


def test_the_check_finds_forbidden_calls() -> None:
    hostile = ("import subprocess", "from pty import spawn", "eval('1')", "os.system('x')", "os.execv('x', [])")
    for line in (*hostile, "asyncio.create_subprocess_exec('x')"):
        assert (WORDS.search(line) is not None, len(list(found(ast.parse(line))))) == (True, 1), line


@pytest.mark.parametrize(
    "step",
    [
        {"shell": "id"},
        {"exec": "id"},
        {"runScript": "steal.js"},
        {"runFlow": "../../../etc/passwd"},
        {"runFlow": {"file": "/etc/passwd"}},
    ],
)
def test_steps_that_would_run_a_program_are_refused(step: object) -> None:
    [error] = load_flow([step], root="steps").problems
    assert isinstance(error, DocumentError)
