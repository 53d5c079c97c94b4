"""Requests and responses that the service gave, one for each operation: recorded by `make examples`."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import orjson

FILE = Path(__file__).with_name("examples.json")
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
    """The body is `json` or the beginning of a `text`, and files are left out. `media_type` is "" without a body."""

    status: int
    media_type: str
    json: NotRequired[Any]
    text: NotRequired[str]


class Example(TypedDict):
    """A call of an operation."""

    request: ExampleRequest
    response: ExampleResponse


@cache
def load_examples() -> Mapping[str, Example]:
    """The examples by operationId."""
    examples: Mapping[str, Example] = orjson.loads(FILE.read_bytes())
    return examples


def add_examples(paths: Mapping[str, Mapping[str, Any]], examples: Mapping[str, Example]) -> None:
    """Put the bodies that are JSON or text into the operations under `paths`."""
    for item in paths.values():
        for operation in item.values():
            if (example := examples.get(operation["operationId"])) is not None:
                _add_bodies(operation, example)


def _add_bodies(operation: dict[str, Any], example: Example) -> None:
    request, response = example["request"], example["response"]
    if "json" in request:
        _add(operation["requestBody"], JSON, request["json"])
    shown = response.get("json", response.get("text"))
    if shown is not None:
        _add(operation["responses"][str(response["status"])], response["media_type"], shown)


def _add(body: dict[str, Any], media_type: str, value: Any) -> None:
    """In a copy of the content, which responses may share."""
    content = body["content"]
    body["content"] = {**content, media_type: {**content[media_type], "example": value}}
