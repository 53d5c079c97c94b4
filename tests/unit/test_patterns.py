"""Regular expressions say whether they mean ASCII, because Unicode has other letters and digits than addresses, ids and
names of machines: "localhoſt" matches `[a-z]+` when case is ignored, and a browser opens localhost.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Texts that people read: sentences, screens, messages of failures.
LANGUAGE = (
    "automation/mobiletest_automation/screen",
    "automation/mobiletest_automation/sentences",
    "automation/mobiletest_automation/step_cache",
    "services/reporting/model",
)
# What a pattern matches of Unicode only without re.ASCII; so does everything with re.IGNORECASE.
DEPENDS = re.compile(r"\\[dDwWsSbB]|\(\?[a-z]*i")
CHOSEN = {"A", "ASCII", "U", "UNICODE"}
CLASSES = {"isdigit", "isdecimal", "isnumeric", "isalnum", "isalpha"}
FUNCTIONS = {"compile", "findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn"}


def undecided(source: str) -> Iterator[int]:
    """The lines with a pattern that depends on Unicode and says neither re.ASCII nor re.UNICODE."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name("re"), attr=called), args=[pattern, *more], keywords=named):
                if called not in FUNCTIONS:
                    continue
                flags = _attributes([*more, *(keyword.value for keyword in named)])
                text = "".join(part for part in _constants(pattern) if isinstance(part, str))
                depends = DEPENDS.search(text) or flags & {"I", "IGNORECASE"}
                if depends and not flags & CHOSEN and "(?a" not in text:
                    yield node.lineno


def digits_of_unicode(source: str) -> Iterator[int]:
    """The lines that ask for digits of a text that may not be ASCII: int("٣") is 3, and int("²") an error."""
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            nodes = ast.walk(function)
            calls = [(node.func, node.lineno) for node in nodes if isinstance(node, ast.Call)]
            asked = [(each, line) for each, line in calls if isinstance(each, ast.Attribute)]
            ascii_only = {ast.unparse(each.value) for each, _ in asked if each.attr == "isascii"}
            yield from (
                line for each, line in asked if each.attr in CLASSES and ast.unparse(each.value) not in ascii_only
            )


def _attributes(nodes: list[ast.expr]) -> set[str]:
    return {each.attr for node in nodes for each in ast.walk(node) if isinstance(each, ast.Attribute)}


def _constants(node: ast.expr) -> Iterator[object]:
    return (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))


@pytest.mark.parametrize("folder", ["automation", "cli/mobiletest_cli", "deploy", "services"])
def test_every_pattern_says_whether_it_means_ascii(folder: str) -> None:
    paths = [(path, str(path.relative_to(ROOT))) for path in sorted((ROOT / folder).rglob("*.py"))]
    sources = [(name, path.read_text()) for path, name in paths if not name.startswith(LANGUAGE)]
    problems = [
        *(
            f"{name}:{line}: say re.ASCII, or re.UNICODE for a text that people read"
            for name, source in sources
            if "re." in source
            for line in undecided(source)
        ),
        *(
            f"{name}:{line}: ask isascii() of the same text too"
            for name, source in sources
            if ".is" in source
            for line in digits_of_unicode(source)
        ),
    ]
    assert problems == []


def test_digits_of_a_text_that_may_not_be_ascii_are_found() -> None:
    assert list(digits_of_unicode("def f(a):\n    return a.isdigit()\n")) == [2]
    assert list(digits_of_unicode("async def f(a):\n    b.isascii()\n    return a.b[1].isalnum()\n")) == [3]
    assert list(digits_of_unicode("def f(a):\n    return a.isascii() and a.isdecimal() and a.islower()\n")) == []


@pytest.mark.parametrize(
    "source",
    [
        r're.compile(r"\d+")',
        r're.compile("[a-z]+", re.IGNORECASE)',
        r're.sub(r"(?i)x", "", text)',
        r're.compile(rf"\b{word}", flags=re.I)',
        're.compile(\n    "a"\n    r"\\w",\n)',
    ],
)
def test_a_pattern_that_does_not_say_it_is_found(source: str) -> None:
    assert list(undecided(source)) == [1]


@pytest.mark.parametrize(
    "source",
    [
        r're.compile("[a-z0-9]+")',
        r're.compile(r"\d+", re.ASCII)',
        r're.compile(r"[a-z]", re.I | re.A)',
        r're.compile("(?ai:http)")',
        r're.compile(rb"\d+")',
        r're.compile(r"\w+", re.UNICODE)',
    ],
)
def test_a_pattern_that_says_it_is_not(source: str) -> None:
    assert list(undecided(source)) == []
