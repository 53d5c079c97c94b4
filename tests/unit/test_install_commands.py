"""No file installs the command line by its name: nobody has registered it, so whoever does would get the keys."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = (
    "*.md",
    "Dockerfile",
    "Makefile",
    ".ci",
    "automation",
    "cli",
    "deploy",
    "docs",
    "examples",
    "protos",
    "services",
)
_INSTALLER = re.compile(r"\b(pip3?|pipx|uv|uvx|poetry|pdm|conda|requirements?|package)\b", re.IGNORECASE)
_BARE_NAME = re.compile(
    r"""(?<![\w./-])mobiletest[-_.]cli(\[[\w,-]*\])?(?!\ *@)(?=["'`\s,;)<>=~!]|$)""", re.IGNORECASE | re.MULTILINE
)


def files() -> Iterator[Path]:
    for place in PLACES:
        for path in ROOT.glob(place):
            for file in path.rglob("*") if path.is_dir() else [path]:
                if file.is_file() and file.suffix not in (".pyc", ".png", ".js", ".binpb") and "lib" not in file.parts:
                    yield file


def installs_by_name(line: str) -> bool:
    """Whether a line that installs something, or says what is installed, has the name alone."""
    return bool(_INSTALLER.search(line) and _BARE_NAME.search(line))


@pytest.mark.parametrize(
    "line",
    [
        "pip install mobiletest-cli",
        "pip install 'mobiletest-cli[mcp]'",
        "pipx install --force mobiletest_cli==1.2",
        "  - PACKAGE: mobiletest-cli",
        "PACKAGE = 'mobiletest-cli'",
        "uvx --from mobiletest-cli mobiletest",
    ],
)
def test_the_name_alone_is_found(line: str) -> None:
    assert installs_by_name(line)


@pytest.mark.parametrize(
    "line",
    [
        "pip install ./cli",
        "pip install https://example.com/cli/mobiletest_cli-0.2.0-py3-none-any.whl",
        "pip install 'mobiletest-cli[mcp] @ https://example.com/cli/mobiletest_cli-0.2.0-py3-none-any.whl'",
        'name = "mobiletest-cli"',
    ],
)
def test_files_and_addresses_are_right(line: str) -> None:
    assert not installs_by_name(line)


def test_nothing_is_installed_by_the_name_alone() -> None:
    problems = []
    for file in files():
        text = file.read_text(errors="ignore")
        problems += [f"{file.relative_to(ROOT)}: {line}" for line in text.splitlines() if installs_by_name(line)]
        if ROOT / "examples" / "ci" in file.parents and _BARE_NAME.search(text):  # the value of a variable
            problems.append(str(file.relative_to(ROOT)))
    assert problems == []
