"""Requests and responses that the service gave, one for each operation: recorded by `make examples`."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import orjson

FILE = Path(__file__).with_name("examples.json")
NAME = "recorded"
"""Of the examples in the document."""
JSON = "application/json"


class ExampleRequest(TypedDict):
    """`path` has its query. The body is one of `json`, `form` (a value that begins with "@" is a file) and `file`."""

    method: str
    path: str
    headers: dict[str, str]
    json: NotRequired[Any]
    form: NotRequired[dict[str, str]]
    file: NotRequired[str]


class ExampleResponse(TypedDict):
    """The body is one of `json`, `text` and `bytes` (hexadecimal); if `cut` is true, it is the beginning."""

    status: int
    headers: dict[str, str]
    json: NotRequired[Any]
    text: NotRequired[str]
    bytes: NotRequired[str]
    cut: NotRequired[bool]


class Example(TypedDict):
    """A call of an operation."""

    request: ExampleRequest
    response: ExampleResponse


@cache
def load_examples() -> Mapping[str, Example]:
    """The examples by operationId."""
    found: Mapping[str, Example] = orjson.loads(FILE.read_bytes())
    return found


def add_examples(paths: Mapping[str, Mapping[str, Any]], examples: Mapping[str, Example]) -> None:
    """Put the bodies that are JSON into the operations under `paths`, those that have an example."""
    for item in paths.values():
        for operation in item.values():
            if (example := examples.get(operation["operationId"])) is not None:
                _add_bodies(operation, example)


def _add_bodies(operation: dict[str, Any], example: Example) -> None:
    request, response = example["request"], example["response"]
    if "json" in request:
        _add(operation["requestBody"], request["json"])
    if "json" in response:
        _add(operation["responses"][str(response["status"])], response["json"])


def _add(body: dict[str, Any], value: Any) -> None:
    """In a copy of the content, which responses may share."""
    content = body["content"]
    body["content"] = {**content, JSON: {**content[JSON], "examples": {NAME: {"value": value}}}}
