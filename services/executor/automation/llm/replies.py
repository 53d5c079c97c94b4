"""Reads what an endpoint answers: the text and the tool calls of a chat completion."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

JsonObject = dict[str, Any]
TEXT_LIMIT = 2_000
CALLS_LIMIT = 16


class Malformed(Exception):
    """The body is no chat completion; the message says what it is instead."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """`arguments` is as the model wrote it: JSON, or what it takes for it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model said. `tokens` are those of question and answer."""

    text: str
    calls: tuple[ToolCall, ...]
    tokens: int

    def message(self) -> JsonObject:
        """The reply as the conversation's next message."""
        said: JsonObject = {"role": "assistant", "content": self.text or None}
        if self.calls:
            said["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in self.calls
            ]
        return said


def read_body(body: bytes) -> JsonObject:
    try:
        read = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Malformed(f"it is no JSON ({error})") from error
    if not isinstance(read, dict):
        raise Malformed("it is no JSON object")
    return read


def read_message(completion: Mapping[str, Any]) -> tuple[str, tuple[ToolCall, ...]]:
    """Text and calls of the first choice. What of a call is missing is left empty, for the model to be told."""
    choices = completion.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Malformed("it has no choices")
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise Malformed("its first choice has no message")
    content, calls = message.get("content"), message.get("tool_calls")
    read = [_call(call, number) for number, call in enumerate(calls)] if isinstance(calls, list) else []
    return (content[:TEXT_LIMIT] if isinstance(content, str) else ""), tuple(read[:CALLS_LIMIT])


def _call(call: object, number: int) -> ToolCall:
    function = call.get("function") if isinstance(call, dict) else None
    function = function if isinstance(function, dict) else {}
    name, arguments = function.get("name"), function.get("arguments")
    given = call.get("id") if isinstance(call, dict) else None
    written = orjson.dumps(arguments).decode() if isinstance(arguments, dict) else arguments
    return ToolCall(
        id=given if isinstance(given, str) and given else f"call_{number}",
        name=name if isinstance(name, str) else "",
        arguments=written if isinstance(written, str) else "",
    )
