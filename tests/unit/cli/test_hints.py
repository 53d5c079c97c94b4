"""Commands and options that messages, pages and documents name exist."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from mobiletest_cli.app import build_app

ROOT = Path(__file__).parents[3]
CLI = ROOT / "cli" / "mobiletest_cli"
# Options of other programs that hints name.
OTHERS = {"--keepParent"}
_CALL = re.compile(r"(^|[`>\"'(:] ?)mobiletest ([a-z][a-z-]*)((?: [a-z][a-z-]*)*)([^\n`<|]*)", re.M)
_MODULE = re.compile(r"python -m ((?:services|deploy|benchmarks)[\w.]*\w)([^\n`|#)\"]*)")
_OPTION = re.compile(r"(?<![\w-])--[A-Za-z][\w-]*")
_TEXTS = ("*.md", "examples/ci/*/*", "services/**/*.html", "docs/**/*.md", "cli/*.md", "deploy/**/*.md")


def _walk(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    yield " ".join(words), command
    for name, child in getattr(command, "commands", {}).items():
        yield from _walk(child, (*words, name))


@cache
def commands() -> Mapping[str, Any]:
    """Commands and groups by their words: "builds upload"."""
    return dict(_walk(typer.main.get_command(build_app())))


def options(command: Any) -> set[str]:
    return {name for option in command.params for name in (*option.opts, *option.secondary_opts)} | {"--help"}


def wrong_calls(text: str) -> list[str]:
    """Commands that do not exist, and options that the command of their line does not have."""
    wrong = []
    for match in _CALL.finditer(text):
        marked, first, more, rest = match.groups()
        command = commands().get(first)
        if command is None:
            wrong += [match[0]] if marked else []  # else prose: "mobiletest runs tests"
            continue
        subcommands = getattr(command, "commands", {})
        if subcommands and (second := more.split()[:1]):
            command = subcommands.get(second[0], command)
            wrong += [match[0]] if second[0] not in subcommands else []
        wrong += [f"{match[0]}: {name}" for name in _OPTION.findall(more + rest) if name not in options(command)]
    return wrong


@pytest.mark.parametrize("pattern", _TEXTS)
def test_commands_in_pages_and_documents_exist(pattern: str) -> None:
    files = [path for path in ROOT.glob(pattern) if path.is_file()]
    assert files
    assert {str(path): wrong for path in files if (wrong := wrong_calls(path.read_text()))} == {}


def module_options(module: str) -> set[str]:
    """The options of a module that is run with `python -m`, by the texts of its parser."""
    path = ROOT.joinpath(*module.split("."))
    files = [*path.glob("*.py")] if path.is_dir() else [path.with_suffix(".py")]
    return {name for file in files for name in re.findall(r'"(--[a-z][\w-]*)"', file.read_text())}


@pytest.mark.parametrize("pattern", _TEXTS)
def test_options_of_modules_in_documents_exist(pattern: str) -> None:
    """Also those of `make run ARGS=...`."""
    wrong = []
    for path in filter(Path.is_file, ROOT.glob(pattern)):
        text = re.sub(r'\bmake run ARGS="?', "python -m deploy.local ", path.read_text())
        for module, rest in _MODULE.findall(text):
            unknown = {*_OPTION.findall(rest)} - module_options(module)
            wrong += [f"{path}: {module} {name}" for name in unknown]
    assert wrong == []


def messages(module: Path) -> Iterator[tuple[str, str]]:
    """Each text of a module that is not a docstring, as (function around it, text); "" for what is in no function."""

    def walk(node: ast.AST, function: str) -> Iterator[tuple[str, str]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                yield from walk(child, function or child.name)
            elif isinstance(child, ast.JoinedStr):
                parts = [part.value if isinstance(part, ast.Constant) else "VALUE" for part in child.values]
                yield function, "".join(map(str, parts))
            elif isinstance(child, ast.Constant) and isinstance(child.value, str):
                yield function, child.value
            elif not (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)):
                yield from walk(child, function)

    yield from walk(ast.parse(module.read_text()), "")


@pytest.mark.parametrize("module", sorted(CLI.rglob("*.py")), ids=lambda path: str(path.relative_to(CLI)))
def test_commands_and_options_in_messages_exist(module: Path) -> None:
    """In the function of a command: options of this command. Elsewhere: of any."""
    by_function = {
        (command.callback.__module__.rpartition(".")[2], command.callback.__name__): command
        for words, command in commands().items()
        if words and command.callback and not hasattr(command, "commands")
    }
    every = set().union(*map(options, commands().values())) | OTHERS
    wrong = []
    for function, text in messages(module):
        if " " not in text:  # an argument of another program
            continue
        wrong += wrong_calls(text)
        command = by_function.get((module.stem, function)) if module.parent.name == "commands" else None
        known = options(command) if command else every
        wrong += [
            f"{function}: {name} in {text!r}" for name in _OPTION.findall(_CALL.sub("", text)) if name not in known
        ]
    assert wrong == []
