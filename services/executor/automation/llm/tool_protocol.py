"""Reads what an endpoint answers: the text and the tool calls of a chat completion."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import orjson

JsonObject = dict[str, Any]
TEXT_LIMIT = 2_000
CALLS_LIMIT = 16


class MalformedReply(Exception):
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
        raise MalformedReply(f"it is no JSON ({error})") from error
    if not isinstance(read, dict):
        raise MalformedReply("it is no JSON object")
    return read


def read_message(completion: Mapping[str, Any]) -> tuple[str, tuple[ToolCall, ...]]:
    """Text and calls of the first choice. What of a call is missing is left empty, for the model to be told."""
    choices = completion.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise MalformedReply("it has no choices")
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise MalformedReply("its first choice has no message")
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


ARGUMENTS_LIMIT = 8_000


class InvalidToolCall(Exception):
    """A call that is not carried out; the message tells the model why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """`type` is one of JSON's, `choices` the only values allowed, `least` and `most` bound numbers and lengths."""

    type: str
    about: str
    choices: tuple[str, ...] = ()
    optional: bool = False
    least: float = 0
    most: float = 1_000

    def schema(self) -> JsonObject:
        schema: JsonObject = {"type": self.type, "description": self.about}
        if self.choices:
            schema["enum"] = list(self.choices)
        if self.type == "array":
            schema["items"] = {"type": "string"}
        return schema

    def check(self, name: str, value: object) -> None:
        """Raises Refused for what is not of this kind."""
        if not _is(self.type, value):
            raise InvalidToolCall(f"{name} has to be of type {self.type}")
        if self.choices and value not in self.choices:
            raise InvalidToolCall(f"{name} has to be one of: {', '.join(self.choices)}")
        size = value if isinstance(value, int | float) else len(value)  # type: ignore[arg-type]
        if not self.choices and not self.least <= size <= self.most:
            what = name if isinstance(value, int | float) else f"the length of {name}"
            raise InvalidToolCall(f"{what} has to be between {self.least:g} and {self.most:g}")


NO_PARAMETERS: Mapping[str, Parameter] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Tool:
    """One thing that a model may call."""

    name: str
    about: str
    parameters: Mapping[str, Parameter] = field(default_factory=lambda: NO_PARAMETERS)

    def schema(self) -> JsonObject:
        required = [name for name, parameter in self.parameters.items() if not parameter.optional]
        parameters: JsonObject = {
            "type": "object",
            "properties": {name: parameter.schema() for name, parameter in self.parameters.items()},
            "required": required,
            "additionalProperties": False,
        }
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.about, "parameters": parameters},
        }


@dataclass(frozen=True, slots=True)
class ValidToolCall:
    """A call that is what its tool asks for."""

    name: str
    arguments: Mapping[str, Any]

    def text(self, name: str) -> str:
        return str(self.arguments.get(name) or "")


def validate_call(call: ToolCall, tools: Sequence[Tool]) -> ValidToolCall:
    """The call, if its tool is one of these and its arguments are exactly what that asks for; else Refused."""
    tool = next((tool for tool in tools if tool.name == call.name), None)
    if tool is None:
        raise InvalidToolCall(
            f"there is no tool {call.name[:60]!r}; there are: {', '.join(tool.name for tool in tools)}"
        )
    arguments = _arguments(call.arguments)
    unexpected = sorted(str(name)[:60] for name in arguments.keys() - tool.parameters.keys())
    if unexpected:
        raise InvalidToolCall(
            f"{tool.name} has no argument {', '.join(unexpected)}; it has: {', '.join(tool.parameters)}"
        )
    for name, parameter in tool.parameters.items():
        if arguments.get(name) is not None:
            parameter.check(name, arguments[name])
        elif not parameter.optional:
            raise InvalidToolCall(f"{tool.name} needs the argument {name}")
    return ValidToolCall(tool.name, arguments)


def _arguments(written: str) -> dict[str, Any]:
    if len(written) > ARGUMENTS_LIMIT:
        raise InvalidToolCall(f"its arguments are longer than {ARGUMENTS_LIMIT} characters")
    try:
        read = orjson.loads(written or "{}")
    except orjson.JSONDecodeError as error:
        raise InvalidToolCall(f"its arguments are no JSON: {error}") from error
    if not isinstance(read, dict):
        raise InvalidToolCall("its arguments are no JSON object")
    return read


def _is(kind: str, value: object) -> bool:
    match kind:
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list) and all(isinstance(each, str) for each in value)
        case _:
            return isinstance(value, str)
