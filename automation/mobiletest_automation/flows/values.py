"""Values of expressions: truth, conversion to text, and operators."""

import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from mobiletest_automation.flows.nodes import quote

Value: TypeAlias = str | int | float | bool | None

TEXT_LIMIT = 10_000

_JAVA_NUMBER = re.compile(
    r"[\0- ]*([+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?"
    r"|(0x)(?:[\da-f]+(?:\.[\da-f]*)?|\.[\da-f]+)p[+-]?\d+))[fd]?[\0- ]*",
    re.ASCII | re.IGNORECASE,
)
_NUMBER = re.compile(r"\s*-?\d+(\.\d+)?\s*", re.ASCII)


class ExpressionError(ValueError):
    """The expression is malformed, or has no value; `message` says why.

    `position` counts from 0 in the text, and is 0 if there is no value.
    """

    def __init__(self, message: str, position: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


def is_true(value: Value) -> bool:
    """Whether a value counts as true in Maestro: it is not empty, "false" in any case, "null", "undefined" or zero."""
    if isinstance(value, str):
        is_word = value in ("null", "undefined") or value.upper() == "FALSE"
        return bool(value.strip()) and not is_word and not _is_zero(value)
    return bool(value)


def _is_zero(text: str) -> bool:
    """Whether Java reads the text as the number 0."""
    number = _JAVA_NUMBER.fullmatch(text)
    if number is None:
        return False
    try:
        return (float.fromhex(number[1]) if number[2] else float(number[1])) == 0
    except OverflowError:
        return False


def to_text(value: Value) -> str:
    """The value as text; a whole number has no decimal point."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else str(value)
    return "null" if value is None else str(value)


def _number(value: Value) -> float | None:
    """The value as a number, also of a text with a number of at most 40 characters; None if it is not one."""
    if isinstance(value, str):
        return float(value) if len(value) <= 40 and _NUMBER.fullmatch(value) else None
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
