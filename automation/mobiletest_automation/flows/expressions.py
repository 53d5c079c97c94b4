"""The conditions of app models. (The ${...} of flows are JavaScript, see `templates`.)

A small language without loops, assignments or calls, so that every condition ends. It has names, quoted texts,
numbers, true, false, null, the operators `== != < <= > >= && || !` and `+ - * / %`, and parentheses. `a || b` is a if
a is true, otherwise b.

It may also be written in words: `and`, `or`, `not` (which binds more loosely than comparisons do), and `contains`,
which ignores case.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mobiletest_automation.flows.nodes import quote
from mobiletest_automation.flows.templates import ExpressionError, Value, is_true, to_text

# Returns the value of a name.
Lookup: TypeAlias = Callable[[str], Value]

Evaluate: TypeAlias = Callable[[Lookup], Value]

LENGTH_LIMIT = 500
DEPTH_LIMIT = 20
SIGNS_LIMIT = 4
TEXT_LIMIT = 10_000
# The operators of conditions that are words.
WORDS: Mapping[str, str] = {"and": "&&", "or": "||", "not": "not", "contains": "contains"}

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<number>\d{1,15}(?:\.\d{1,15})?(?![\w.]))"""
    r"""|(?P<word>[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*)|(?P<sign>===|!==|==|!=|<=|>=|&&|\|\||[-<>()!+*/%]))""",
    re.DOTALL | re.UNICODE,
)
_NUMBER_TEXT = re.compile(r"\s*-?\d+(\.\d+)?\s*", re.ASCII)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_CONTROLS = {"n": "\n", "t": "\t"}
_CONSTANTS: Mapping[str, Value] = {"true": True, "false": False, "null": None, "undefined": None}
# Binary operators, by rising precedence.
_BINARY = (("==", "!="), ("<", "<=", ">", ">=", "contains"), ("+", "-"), ("*", "/", "%"))

_SAME = {"===": "==", "!==": "!="}
_NO_SCRIPT = "only names, texts, numbers and operators, no calls, lists, objects or assignments"


@dataclass(frozen=True, slots=True)
class ConditionExpression:
    """Something that is true or false. `names` are the variables that it uses."""

    source: str
    names: frozenset[str]
    evaluate: Evaluate

    def holds(self, values: Mapping[str, Value]) -> bool:
        """Whether it is true; a condition that has no value, such as "text" > 1, is not."""
        try:
            return is_true(self.evaluate(values.__getitem__))
        except ExpressionError:
            return False


def parse_condition(source: str) -> ConditionExpression:
    """The condition that the whole text is.

    Raises:
        ExpressionError: it is no expression.
    """
    if len(source) > LENGTH_LIMIT:
        raise ExpressionError(f"a condition has at most {LENGTH_LIMIT} characters", LENGTH_LIMIT)
    parser = _Parser(source)
    evaluate = parser.parse_or(0)
    if parser.kind or parser.symbol:
        raise parser.error()
    return ConditionExpression(source, frozenset(parser.names), evaluate)


class _Parser:
    """Recursive descent: or, and, not, the binary operators, sign, operand."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.names: set[str] = set()
        self.begin = self.end = 0
        self.kind = self.symbol = ""
        self._advance()

    def parse_or(self, depth: int) -> Evaluate:
        if depth > DEPTH_LIMIT:
            raise ExpressionError(f"an expression is nested at most {DEPTH_LIMIT} deep", self.begin)
        branches = [self._parse_and(depth)]
        while self._take("||"):
            branches.append(self._parse_and(depth))
        return branches[0] if len(branches) == 1 else _or(branches)

    def _parse_and(self, depth: int) -> Evaluate:
        left = self._parse_not(depth)
        while self._take("&&"):
            left = _and(left, self._parse_not(depth))
        return left

    def _parse_not(self, depth: int) -> Evaluate:
        negations = 0
        while self._take("not"):
            negations += 1
        value = self._parse_binary(depth)
        for _ in range(min(negations, 2 - negations % 2)):
            value = _not(value)
        return value

    def _parse_binary(self, depth: int, level: int = 0) -> Evaluate:
        if level == len(_BINARY):
            return self._parse_signs(depth)
        left = self._parse_binary(depth, level + 1)
        while sign := self._take(*_BINARY[level]):
            left = _binary(OPERATORS[sign], left, self._parse_binary(depth, level + 1))
        return left

    def _parse_signs(self, depth: int) -> Evaluate:
        signs = []
        while sign := self._take("!", "-"):
            signs.append(sign)
            if len(signs) > SIGNS_LIMIT:
                raise ExpressionError(f"at most {SIGNS_LIMIT} signs may stand before a value", self.begin)
        value = self._parse_operand(depth)
        for sign in reversed(signs):
            value = _not(value) if sign == "!" else _binary(OPERATORS["-"], lambda _: 0.0, value)
        return value

    def _parse_operand(self, depth: int) -> Evaluate:
        kind, symbol = self.kind, self.symbol
        if kind == "sign" and symbol == "(":
            self._advance()
            inner = self.parse_or(depth + 1)
            if not self._take(")"):
                raise self.error()
            return inner
        if kind not in ("text", "number", "word"):
            raise self.error()
        begin = self.begin
        self._advance()
        if kind == "word" and self.kind == "sign" and self.symbol == "(":
            raise ExpressionError(f"{quote(symbol + '(...)')} cannot be called here: {_NO_SCRIPT}", begin)
        if kind == "word" and symbol not in _CONSTANTS:
            self.names.add(symbol)
            return lambda lookup: lookup(symbol)
        return _constant(kind, symbol)

    def _take(self, *operators: str) -> str:
        """The current token if it is one of these operators, and step to the next one; empty otherwise."""
        if self.kind != "sign" or self.symbol not in operators:
            return ""
        operator = self.symbol
        self._advance()
        return operator

    def _advance(self) -> None:
        """Step to the next token; `kind` is empty if there is none."""
        match = _TOKEN.match(self.source, self.end)
        if match is None:
            rest = self.source[self.end :].lstrip()
            self.begin, self.kind, self.symbol = len(self.source) - len(rest), "", rest[:1]
            return
        self.kind = match.lastgroup or ""
        self.symbol = match[self.kind]
        self.begin, self.end = match.start(self.kind), match.end()
        if self.kind == "word" and self.symbol in WORDS:
            self.kind, self.symbol = "sign", WORDS[self.symbol]
        elif self.kind == "sign":
            self.symbol = _SAME.get(self.symbol, self.symbol)

    def error(self) -> ExpressionError:
        """The error about the current token."""
        if not self.symbol:
            message = "something is missing at the end"
        else:
            token = self.source[self.begin : self.end] if self.kind else self.symbol
            message = f"{quote(token)} is not expected here: {_NO_SCRIPT}"
        return ExpressionError(message, self.begin)


def _constant(kind: str, symbol: str) -> Evaluate:
    if kind == "text":
        text = _ESCAPED.sub(lambda value: _CONTROLS.get(value[1], value[1]), symbol[1:-1])
        return lambda _: text
    constant = float(symbol) if kind == "number" else _CONSTANTS[symbol]
    return lambda _: constant


def _or(branches: Sequence[Evaluate]) -> Evaluate:
    """The first that is true, otherwise the last."""

    def evaluate(lookup: Lookup) -> Value:
        for branch in branches[:-1]:
            value = branch(lookup)
            if is_true(value):
                return value
        return branches[-1](lookup)

    return evaluate


def _and(left: Evaluate, right: Evaluate) -> Evaluate:
    def evaluate(lookup: Lookup) -> Value:
        value = left(lookup)
        return right(lookup) if is_true(value) else value

    return evaluate


def _not(expression: Evaluate) -> Evaluate:
    return lambda lookup: not is_true(expression(lookup))


def _binary(operator: Callable[[Value, Value], Value], left: Evaluate, right: Evaluate) -> Evaluate:
    return lambda lookup: operator(left(lookup), right(lookup))


def _number(value: Value) -> float | None:
    """The value as a number, also of a text with a number of at most 40 characters; None if it is not one."""
    if isinstance(value, str):
        return float(value) if len(value) <= 40 and _NUMBER_TEXT.fullmatch(value) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _numbers(sign: str, left: Value, right: Value) -> tuple[float, float]:
    one, other = _number(left), _number(right)
    if one is None or other is None:
        wrong = left if one is None else right
        raise ExpressionError(f"{sign} needs numbers, not {quote(to_text(wrong))}")
    return one, other


def _equal(left: Value, right: Value) -> bool:
    """Whether two values are the same number, or otherwise the same text."""
    one, other = _number(left), _number(right)
    return one == other if one is not None and other is not None else to_text(left) == to_text(right)


def _less(left: Value, right: Value) -> bool:
    if _number(left) is None and _number(right) is None and isinstance(left, str) and isinstance(right, str):
        return left < right
    one, other = _numbers("<", left, right)
    return one < other


def _contains(left: Value, right: Value) -> bool:
    """Whether the text of one value is part of the other's, ignoring case."""
    return to_text(right).casefold() in to_text(left).casefold()


def _add(left: Value, right: Value) -> Value:
    if isinstance(left, str) or isinstance(right, str):
        text = to_text(left) + to_text(right)
        if len(text) > TEXT_LIMIT:
            raise ExpressionError(f"the text becomes longer than {TEXT_LIMIT} characters")
        return text
    return _calculate("+", operator.add)(left, right)


def _calculate(sign: str, calculate: Callable[[float, float], float]) -> Callable[[Value, Value], Value]:
    def apply(left: Value, right: Value) -> Value:
        one, other = _numbers(sign, left, right)
        if sign in "/%" and other == 0:
            raise ExpressionError("division by 0")
        number = calculate(one, other)
        if not abs(number) <= 1e300:
            raise ExpressionError("the number becomes too large")
        return number

    return apply


OPERATORS: Mapping[str, Callable[[Value, Value], Value]] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "<": _less,
    ">": lambda left, right: _less(right, left),
    "<=": lambda left, right: not _less(right, left),
    ">=": lambda left, right: not _less(left, right),
    "contains": _contains,
    "+": _add,
    "-": _calculate("-", operator.sub),
    "*": _calculate("*", operator.mul),
    "/": _calculate("/", operator.truediv),
    "%": _calculate("%", math.fmod),
}
