"""Conditions and texts of app models: `cart > 0 and email != ""`, `Hello {name}`."""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Value: TypeAlias = str | int | float | bool
State: TypeAlias = Mapping[str, Value]

LENGTH_LIMIT = 500
DEPTH_LIMIT = 20
FILLED_LIMIT = 4_000
"""Characters of a text with its variables filled in: a model may double a variable with each tap."""

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"[^"]*"|'[^']*')|(?P<number>-?\d{1,15}(?:\.\d{1,10})?)"""
    r"""|(?P<word>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?)|(?P<operator>==|!=|<=|>=|<|>|\(|\)))"""
)
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{(\w+(?:\.\w+)?)\}")
_CONSTANTS: Mapping[str, Value] = {"true": True, "false": False}
_ORDERINGS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class ExpressionError(ValueError):
    """The expression is malformed; `position` counts from 0 in its text."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.position = position
        self.message = message


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that is true or false of a state. `names` are the variables that it looks at."""

    source: str
    names: frozenset[str]
    evaluate: Callable[[State], Value]

    def holds(self, state: State) -> bool:
        return bool(self.evaluate(state))


ALWAYS = Condition("true", frozenset(), lambda state: True)
NEVER = Condition("false", frozenset(), lambda state: False)


@dataclass(frozen=True, slots=True)
class Template:
    """A text with variables in braces; `{{` and `}}` stand for the braces themselves."""

    source: str

    @property
    def names(self) -> frozenset[str]:
        return frozenset(found[1] for found in _PLACEHOLDER.finditer(self.source) if found[1])

    def fill(self, state: State) -> str:
        """The text with the values; what is beyond FILLED_LIMIT is cut off."""
        room = FILLED_LIMIT

        def value(found: re.Match[str]) -> str:
            nonlocal room
            text = display(state[found[1]])[:room] if found[1] else found[0][0]
            room -= len(text)
            return text

        return _PLACEHOLDER.sub(value, self.source)[:FILLED_LIMIT]


EMPTY = Template("")


def display(value: Value) -> str:
    """How a variable reads on the screen."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def parse_condition(source: str) -> Condition:
    """The condition; ExpressionError with the position of what is wrong."""
    if len(source) > LENGTH_LIMIT:
        raise ExpressionError(LENGTH_LIMIT, f"a condition has at most {LENGTH_LIMIT} characters")
    parser = _Parser(source)
    evaluate = parser.either(0)
    if parser.kind:
        raise parser.error(f"{parser.symbol} is not expected here")
    return Condition(source, frozenset(parser.names), evaluate)


class _Parser:
    """Recursive descent: or, and, not, comparison, operand."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.names: set[str] = set()
        self.end = 0
        self._advance()

    def either(self, depth: int) -> Callable[[State], Value]:
        if depth > DEPTH_LIMIT:
            raise self.error("the condition is nested too deeply")
        left = self._both(depth)
        while self._word("or"):
            left = _either(left, self._both(depth))
        return left

    def _both(self, depth: int) -> Callable[[State], Value]:
        left = self._negated(depth)
        while self._word("and"):
            left = _both(left, self._negated(depth))
        return left

    def _negated(self, depth: int) -> Callable[[State], Value]:
        negations = 0
        while self._word("not"):
            negations += 1
        inner = self._comparison(depth)
        return inner if negations == 0 else lambda state: bool(inner(state)) == (negations % 2 == 0)

    def _comparison(self, depth: int) -> Callable[[State], Value]:
        left = self._operand(depth)
        sign = self.symbol
        if sign in ("==", "!=", "contains", *_ORDERINGS) and self.kind in ("operator", "word"):
            self._advance()
            return _compared(sign, left, self._operand(depth))
        return left

    def _operand(self, depth: int) -> Callable[[State], Value]:
        kind, symbol = self.kind, self.symbol
        if symbol == "(":
            self._advance()
            inner = self.either(depth + 1)
            if self.symbol != ")":
                raise self.error("a ) is missing")
            self._advance()
            return inner
        if kind not in ("text", "number", "word") or symbol in ("and", "or", "not", "contains"):
            raise self.error("expected a variable, a number or a text in quotes")
        self._advance()
        return self._value(kind, symbol)

    def _value(self, kind: str, symbol: str) -> Callable[[State], Value]:
        if kind == "word" and symbol not in _CONSTANTS:
            self.names.add(symbol)
            return lambda state: state[symbol]
        constant = _CONSTANTS.get(symbol, symbol[1:-1]) if kind != "number" else _number(symbol)
        return lambda state: constant

    def _word(self, word: str) -> bool:
        if self.kind != "word" or self.symbol != word:
            return False
        self._advance()
        return True

    def _advance(self) -> None:
        """Step to the next token; `kind` is empty at the end."""
        found = _TOKEN.match(self.source, self.end)
        if found is None:
            self.begin = self.end + len(self.source[self.end :]) - len(self.source[self.end :].lstrip())
            self.kind, self.symbol = "", ""
            if self.begin < len(self.source):
                raise self.error(f"{self.source[self.begin]} is not expected here")
            return
        self.kind = found.lastgroup or ""
        self.symbol = found[self.kind]
        self.begin, self.end = found.start(self.kind), found.end()

    def error(self, message: str) -> ExpressionError:
        return ExpressionError(self.begin, message)


def _number(symbol: str) -> Value:
    return float(symbol) if "." in symbol else int(symbol)


def _either(left: Callable[[State], Value], right: Callable[[State], Value]) -> Callable[[State], Value]:
    return lambda state: bool(left(state)) or bool(right(state))


def _both(left: Callable[[State], Value], right: Callable[[State], Value]) -> Callable[[State], Value]:
    return lambda state: bool(left(state)) and bool(right(state))


def _compared(sign: str, left: Callable[[State], Value], right: Callable[[State], Value]) -> Callable[[State], Value]:
    match sign:
        case "==":
            return lambda state: left(state) == right(state)
        case "!=":
            return lambda state: left(state) != right(state)
        case "contains":
            return lambda state: display(right(state)).casefold() in display(left(state)).casefold()
        case _:
            ordering = _ORDERINGS[sign]
            return lambda state: _ordered(ordering, left(state), right(state))


def _ordered(ordering: Callable[[float, float], bool], left: Value, right: Value) -> bool:
    """Only numbers have an order; everything else compares as false."""
    return isinstance(left, int | float) and isinstance(right, int | float) and ordering(left, right)
