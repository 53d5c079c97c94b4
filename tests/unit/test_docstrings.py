"""Public docstrings say errors in sections `Raises:`, with an error a line, and name ports that exist."""

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT = ("services", "automation/mobiletest_automation", "cli/mobiletest_cli", "deploy", "examples")
# Errors of the chassis and the automation, which docstrings name most.
ERRORS = "NotFound|AlreadyExists|InvalidArgument|FailedPrecondition|Aborted|PermissionDenied|ResourceExhausted"
ERRORS += (
    "|Unavailable|Unauthenticated|DocumentError|DeviceFailure|StepFailed|ModelFailed|ScriptError|CliError|HttpError"
)
IN_TEXT = re.compile(
    rf"(?:^|[.;]\s+)(?:Raises?\s+)?(?:{ERRORS})(?:\s\([A-Z_a-z]+\))?(?:[.,;:]|\s(?:if|when|for|unless)\b)"
)
PORT = re.compile(r"\bport `(\w+)`")
ENTRY = re.compile(r"[\w.]+: \S")


def test_errors_are_said_in_sections() -> None:
    problems = {place: text for place, text in _docstrings() if IN_TEXT.search(text.partition("\n\nRaises:\n")[0])}
    assert problems == {}


def test_sections_of_errors_have_an_error_a_line() -> None:
    sections = ((place, text.partition("\n\nRaises:\n")[2]) for place, text in _docstrings())
    entries = ((place, line[4:]) for place, section in sections for line in section.split("\n") if line[:5].strip())
    assert [(place, entry) for place, entry in entries if not ENTRY.match(entry)] == []


def test_the_ports_that_docstrings_name_exist() -> None:
    names = {place.rpartition(": ")[2] for place, _ in _nodes()}
    ports = ((place, port) for place, text in _docstrings() for port in PORT.findall(text))
    assert [(place, port) for place, port in ports if port not in names] == []


@cache
def _nodes() -> Sequence[tuple[str, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Public classes and functions, with where they stand."""
    files = (file for folder in PRODUCT for file in sorted((ROOT / folder).rglob("*.py")))
    return [
        (f"{file.relative_to(ROOT)}: {node.name}", node)
        for file in files
        for node in _public(ast.parse(file.read_text()))
    ]


def _docstrings() -> Iterator[tuple[str, str]]:
    return ((place, text) for place, node in _nodes() if (text := ast.get_docstring(node)))


def _public(node: ast.Module | ast.ClassDef) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not child.name.startswith("_"):
            yield child
            if isinstance(child, ast.ClassDef):
                yield from _public(child)
