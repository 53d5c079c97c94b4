"""Only one module writes to the streams, so that what makes texts harmless cannot be forgotten."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

CLI = Path(__file__).parents[3] / "cli" / "mobiletest_cli"
# Packages of the services, which print nothing: they are linked into the command line.
SHARED = ("flows", "app_files")
OUTPUT = "output.py"
MODULES = {"click", "getpass", "logging", "rich", "traceback", "warnings"}
# Says how wide a text is.
ALLOWED_MODULES = {"rich.cells"}
CALLS = {"print", "input"}
OF_SYS = {"stdout", "stderr", "__stdout__", "__stderr__", "displayhook", "excepthook"}
OF_TYPER = {"echo", "secho", "prompt", "confirm", "echo_via_pager", "progressbar"}


def found(tree: ast.AST) -> Iterator[str]:
    """The places in a module that could write to the streams, but for constants."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names if _prints(name.name))
            case ast.ImportFrom(module=str(module), names=names) if _prints(module):
                yield module
            case ast.ImportFrom(module="sys" | "typer" as module, names=names):
                yield from (name.name for name in names if name.name in OF_SYS | OF_TYPER)
            case ast.Call(func=ast.Name(id=name)) if name in CALLS:
                yield name
            case ast.Attribute(value=ast.Name(id="sys"), attr=name) if name in OF_SYS:
                yield f"sys.{name}"
            case ast.Attribute(value=ast.Name(id="typer"), attr=name) if name in OF_TYPER:
                yield f"typer.{name}"
            case ast.Call(func=ast.Attribute(value=ast.Name(id="os"), attr="write"), args=[_, text]):
                if not isinstance(text, ast.Constant):
                    yield "os.write"


def _prints(module: str) -> bool:
    return module.partition(".")[0] in MODULES and module not in ALLOWED_MODULES


def test_only_the_output_writes_to_the_streams() -> None:
    modules = {str(path.relative_to(CLI)): path for path in sorted(CLI.rglob("*.py"))}
    own = {name: path for name, path in modules.items() if name != OUTPUT and not name.startswith(SHARED)}
    assert len(own) > 50
    by_module = {name: list(found(ast.parse(path.read_text()))) for name, path in own.items()}
    assert {name: places for name, places in by_module.items() if places} == {}


@pytest.mark.parametrize(
    "line",
    [
        "print('x')",
        "import rich.table",
        "from rich.console import Console",
        "from logging import warning",
        "from sys import stdout",
        "sys.stderr.write('x')",
        "sys.__stdout__.write('x')",
        "typer.echo('x')",
        "from typer import secho",
        "os.write(2, text)",
    ],
)
def test_the_check_finds_what_writes(line: str) -> None:
    assert len(list(found(ast.parse(line)))) == 1


@pytest.mark.parametrize(
    "line", ["output.say('x')", "from rich.cells import cell_len", "os.write(2, b'x')", "sys.stdin"]
)
def test_the_check_leaves_the_rest(line: str) -> None:
    assert list(found(ast.parse(line))) == []
