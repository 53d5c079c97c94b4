"""The chat completions protocol of OpenAI-compatible endpoints: requests, tools, replies and tool calls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from mobiletest_automation.flows.texts import cut
from mobiletest_automation.outside_texts import parse_json

JsonObject = dict[str, Any]
TEXT_LIMIT = 2_000
CALLS_LIMIT = 16
ARGUMENTS_LIMIT = 8_000
# Estimated cost of a picture.
PICTURE_TOKENS = 1_500


class MalformedReply(Exception):
    """The body is not a chat completion; the message says why."""


class InvalidToolCall(Exception):
    """A call that is not carried out; the message tells the model why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """`type` is a JSON type, `choices` are the allowed values, `least` and `most` bound numbers and lengths."""

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
        """Check a value that a model has sent.

        Raises:
            InvalidToolCall: the value does not fit.
        """
        if not _has_type(value, self.type):
            raise InvalidToolCall(f"{name} must be of type {self.type}")
        if self.choices and value not in self.choices:
            raise InvalidToolCall(f"{name} must be one of: {', '.join(self.choices)}")
        size = value if isinstance(value, int | float) else len(value)  # type: ignore[arg-type]
        if not self.choices and not self.least <= size <= self.most:
            what = name if isinstance(value, int | float) else f"the length of {name}"
            raise InvalidToolCall(f"{what} must be between {self.least:g} and {self.most:g}")


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a model may call."""

    name: str
    about: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """A question to a model, which has to answer by calling one of the tools."""

    model: str
    messages: Sequence[JsonObject]
    tools: Sequence[JsonObject]

    def body(self, omitted: frozenset[str], answer_tokens: int) -> JsonObject:
        """The request's JSON without the parameters that the endpoint does not accept."""
        body: JsonObject = {
            "model": self.model,
            "messages": list(self.messages),
            "tools": list(self.tools),
            "tool_choice": "required",
            "parallel_tool_calls": False,
            "temperature": 0,
            "max_tokens": answer_tokens,
        }
        kept = {name: value for name, value in body.items() if name not in omitted}
        return {**kept, "max_completion_tokens": answer_tokens} if "max_tokens" in omitted else kept

    def estimate_tokens(self) -> int:
        """About how many tokens the request has: a quarter of its characters, plus PICTURE_TOKENS per picture."""
        text, pictures = _size_of([*self.messages, *self.tools])
        return text // 4 + pictures * PICTURE_TOKENS


def _size_of(value: object) -> tuple[int, int]:
    """The number of characters and of pictures."""
    match value:
        case str():
            return (0, 1) if value.startswith("data:image/") else (len(value), 0)
        case dict():
            parts = [_size_of(part) for part in value.values()]
        case list():
            parts = [_size_of(part) for part in value]
        case _:
            return 4, 0
    return sum(text for text, _ in parts) + 4 * len(parts), sum(pictures for _, pictures in parts)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the model wrote it; `arguments` should be JSON, but may be anything."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Reply:
    """The model's reply. `tokens` counts the request and the reply."""

    text: str
    calls: tuple[ToolCall, ...]
    tokens: int

    def message(self) -> JsonObject:
        """The reply as the conversation's next message."""
        message: JsonObject = {"role": "assistant", "content": self.text or None}
        if self.calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in self.calls
            ]
        return message


def parse_completion(body: bytes) -> JsonObject:
    try:
        read = parse_json(body)
    except ValueError as error:
        raise MalformedReply(f"it is not JSON ({error})") from error
    if not isinstance(read, dict):
        raise MalformedReply("it is not a JSON object")
    return read


def read_message(completion: Mapping[str, Any]) -> tuple[str, tuple[ToolCall, ...]]:
    """Text and calls of the first choice. Missing parts of a call are left empty, so that the model is told."""
    choices = completion.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise MalformedReply("it has no choices")
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise MalformedReply("its first choice has no message")
    content, calls = message.get("content"), message.get("tool_calls")
    read = [_read_call(call, number) for number, call in enumerate(calls)] if isinstance(calls, list) else []
    return (cut(content, TEXT_LIMIT) if isinstance(content, str) else ""), tuple(read[:CALLS_LIMIT])


def _read_call(call: object, number: int) -> ToolCall:
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


@dataclass(frozen=True, slots=True)
class ValidToolCall:
    """A call whose arguments fit its tool."""

    name: str
    arguments: Mapping[str, Any]

    def text(self, name: str) -> str:
        return str(self.arguments.get(name) or "")


def validate_call(call: ToolCall, tools: Sequence[Tool]) -> ValidToolCall:
    """The call, if it is for one of the tools and its arguments fit.

    Raises:
        InvalidToolCall: there is no such tool, or an argument does not fit.
    """
    tool = next((tool for tool in tools if tool.name == call.name), None)
    if tool is None:
        raise InvalidToolCall(
            f"there is no tool {cut(call.name, 60)!r}; there are: {', '.join(tool.name for tool in tools)}"
        )
    arguments = _parse_arguments(call.arguments)
    unexpected = sorted(cut(str(name), 60) for name in arguments.keys() - tool.parameters.keys())
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


def _parse_arguments(written: str) -> dict[str, Any]:
    if len(written) > ARGUMENTS_LIMIT:
        raise InvalidToolCall(f"its arguments are longer than {ARGUMENTS_LIMIT} characters")
    try:
        read = parse_json(written or "{}")
    except ValueError as error:
        raise InvalidToolCall(f"its arguments are not JSON: {error}") from error
    if not isinstance(read, dict):
        raise InvalidToolCall("its arguments are not a JSON object")
    return read


def _has_type(value: object, json_type: str) -> bool:
    match json_type:
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list) and all(isinstance(each, str) for each in value)
        case _:
            return isinstance(value, str)
