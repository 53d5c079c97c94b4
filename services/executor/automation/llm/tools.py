"""Tools as the protocol has them, and what a model's call of one of them is worth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import orjson

from services.executor.automation.llm.replies import JsonObject, ToolCall

ARGUMENTS_LIMIT = 8_000


class Refused(Exception):
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
            raise Refused(f"{name} has to be of type {self.type}")
        if self.choices and value not in self.choices:
            raise Refused(f"{name} has to be one of: {', '.join(self.choices)}")
        size = value if isinstance(value, int | float) else len(value)  # type: ignore[arg-type]
        if not self.choices and not self.least <= size <= self.most:
            what = name if isinstance(value, int | float) else f"the length of {name}"
            raise Refused(f"{what} has to be between {self.least:g} and {self.most:g}")


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
class Called:
    """A call that is what its tool asks for."""

    name: str
    arguments: Mapping[str, Any]

    def text(self, name: str) -> str:
        return str(self.arguments.get(name) or "")


def accepted(call: ToolCall, tools: Sequence[Tool]) -> Called:
    """The call, if its tool is one of these and its arguments are exactly what that asks for; else Refused."""
    tool = next((tool for tool in tools if tool.name == call.name), None)
    if tool is None:
        raise Refused(f"there is no tool {call.name[:60]!r}; there are: {', '.join(tool.name for tool in tools)}")
    arguments = _arguments(call.arguments)
    unexpected = sorted(str(name)[:60] for name in arguments.keys() - tool.parameters.keys())
    if unexpected:
        raise Refused(f"{tool.name} has no argument {', '.join(unexpected)}; it has: {', '.join(tool.parameters)}")
    for name, parameter in tool.parameters.items():
        if arguments.get(name) is not None:
            parameter.check(name, arguments[name])
        elif not parameter.optional:
            raise Refused(f"{tool.name} needs the argument {name}")
    return Called(tool.name, arguments)


def _arguments(written: str) -> dict[str, Any]:
    if len(written) > ARGUMENTS_LIMIT:
        raise Refused(f"its arguments are longer than {ARGUMENTS_LIMIT} characters")
    try:
        read = orjson.loads(written or "{}")
    except orjson.JSONDecodeError as error:
        raise Refused(f"its arguments are no JSON: {error}") from error
    if not isinstance(read, dict):
        raise Refused("its arguments are no JSON object")
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
