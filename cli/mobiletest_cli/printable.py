"""Makes text of others harmless: it controls no terminal, and no CI system reads a command in it.

Test names, messages and screens come from the app under test, from colleagues and from pull requests. They stay
readable: a control character becomes a visible U+FFFD, a command gets a backslash, and JSON has an escape for both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_UNPRINTABLE = (
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    r"\U000e0000-\U000e007f]"
)
"""Controls of terminals and of the direction of text, line ends for some readers only, and halves of characters."""
_IN_LINE = (
    r"(?<=#)#(?=[a-z]*\[)"  # ##[...] of Azure Pipelines and GitHub, ##vso[...], ##teamcity[...]
    r"|(?:(?<=section_start)|(?<=section_end)|(?<=travis_fold)|(?<=travis_time)):"  # GitLab, Travis CI
)
"""What CI systems look for everywhere in a line: of each command the one character without which it is none."""
_AT_LINE_START = re.compile(
    r"^((?:[^\S\n]|\x1b\[[\d;]*m)*)"  # GitHub skips spaces, Buildkite the colors, which tables have
    r"(?=::|(?:---|\+\+\+|~~~)[^\S\n]|\^\^\^[^\S\n]+\+\+\+)",
    re.MULTILINE | re.UNICODE,
)
_FLAGS = re.ASCII | re.IGNORECASE
_CONTROL = re.compile(_UNPRINTABLE)
_COMMAND = re.compile(_IN_LINE, _FLAGS)
_IN_JSON = re.compile(f"{_UNPRINTABLE}|{_IN_LINE}", _FLAGS)
_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}


def printable(text: str) -> str:
    """The text without what would act on a terminal or a CI system; tabs and line feeds stay."""
    return guard_line_starts(_COMMAND.sub(r"\\\g<0>", visible(text)))


def visible(text: str) -> str:
    """The text without what would act on a terminal."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def guard_line_starts(text: str) -> str:
    """The text without commands at the beginning of its lines, which may be colored: where a table breaks a text, a
    line begins with the middle of it.
    """
    return _AT_LINE_START.sub(r"\1\\", text)


def printable_values(value: Any) -> Any:
    """A JSON value with printable texts."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable_values(name): printable_values(each) for name, each in value.items()}
    return [printable_values(each) for each in value] if isinstance(value, list | tuple) else value


def printable_json(value: Any) -> str:
    """The JSON of the value, in lines; whoever parses it gets the very same texts."""
    return _IN_JSON.sub(_escape_in_json, json.dumps(value, indent=2, ensure_ascii=False))


def _escape_in_json(found: re.Match[str]) -> str:
    """None of these characters is the second of a shorter escape, such as the t of a tab."""
    return "".join(f"\\u{unit}" for unit in found[0].encode("utf-16-be", "surrogatepass").hex(" ", 2).split())


class WorkflowCommand(NamedTuple):
    """A command that GitHub Actions is meant to read; the texts in it may be of others."""

    kind: str
    properties: Mapping[str, str]
    message: str

    def __str__(self) -> str:
        """The line, as the runner reads it: https://docs.github.com/actions, workflow commands."""
        properties = ",".join(f"{name}={_quote(value, _PROPERTY)}" for name, value in self.properties.items())
        return f"::{self.kind} {properties}::{_quote(self.message, _DATA)}"


def _quote(text: str, escapes: Mapping[str, str]) -> str:
    return "".join(escapes.get(character, character) for character in printable(text))
