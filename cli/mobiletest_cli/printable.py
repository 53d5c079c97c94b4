"""JSON and commands of CI systems with printable texts (`flows.printable`)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from mobiletest_automation.flows.printable import FLAGS, IN_LINE, UNPRINTABLE, printable

_IN_JSON = re.compile(f"{UNPRINTABLE}|{IN_LINE}", FLAGS)
_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}


def printable_values(value: Any) -> Any:
    """A JSON value with printable texts."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable_values(name): printable_values(each) for name, each in value.items()}
    return [printable_values(each) for each in value] if isinstance(value, list | tuple) else value


def printable_json(value: Any) -> str:
    """The JSON of the value, in lines, with escapes for what would act on a terminal or a CI system; whoever parses it
    gets the very same texts.
    """
    return _IN_JSON.sub(_escape_in_json, json.dumps(value, indent=2, ensure_ascii=False))


def _escape_in_json(match: re.Match[str]) -> str:
    """None of these characters is the second of a shorter escape, such as the t of a tab."""
    return "".join(f"\\u{unit}" for unit in match[0].encode("utf-16-be", "surrogatepass").hex(" ", 2).split())


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
