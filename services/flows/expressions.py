"""What stands inside ${...}: a small language without loops, assignments or calls, so that every expression ends.

Names (`NAME`, `maestro.copiedText`), texts in quotes, numbers, true, false, null; `== != < <= > >= && || !`,
`+ - * / %` and parentheses. `a || b` gives a if that is true, else b. There, and in `!a`, a name that is not known
counts as null, and nowhere else.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from services.flows.nodes import quote
from services.flows.values import OPERATORS, ExpressionError, UnknownVariable, Value, is_true

Lookup: TypeAlias = Callable[[str], Value]
"""Gives the value of a name; raises ExpressionError, or Unknown when there is no such name."""

Evaluate: TypeAlias = Callable[[Lookup], Value]

LENGTH_LIMIT = 500
DEPTH_LIMIT = 20
SIGNS_LIMIT = 4

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<number>\d{1,15}(?:\.\d{1,15})?(?![\w.]))"""
    r"""|(?P<word>[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*)|(?P<sign>===|!==|==|!=|<=|>=|&&|\|\||[-<>()!+*/%}]))""",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_CONTROLS = {"n": "\n", "t": "\t"}
_CONSTANTS: Mapping[str, Value] = {"true": True, "false": False, "null": None, "undefined": None}
_SAME = {"===": "==", "!==": "!="}
_NO_SCRIPT = "no calls, lists, objects or assignments: only names, texts, numbers and operators"


def parse_expression(text: str, begin: int) -> tuple[Evaluate, int]:
    """The expression that begins there, and where the text goes on behind its closing brace."""
    parser = _Parser(text, begin)
    evaluate = parser.either(0)
    if parser.symbol != "}" or parser.kind != "sign":
        raise parser.error()
    if parser.end - begin > LENGTH_LIMIT:
        raise ExpressionError(f"an expression has at most {LENGTH_LIMIT} characters")
    return evaluate, parser.end


class _Parser:
    """Recursive descent: or, and, equality, order, sum, product, sign, operand."""

    def __init__(self, source: str, begin: int) -> None:
        self.source = source
        self.begin = self.end = begin
        self.kind = self.symbol = ""
        self._advance()

    def either(self, depth: int) -> Evaluate:
        if depth > DEPTH_LIMIT:
            raise ExpressionError(f"an expression is nested at most {DEPTH_LIMIT} deep")
        branches = [self._both(depth)]
        while self._takes("||"):
            branches.append(self._both(depth))
        return branches[0] if len(branches) == 1 else _or(branches)

    def _both(self, depth: int) -> Evaluate:
        left = self._equality(depth)
        while self._takes("&&"):
            left = _and(left, self._equality(depth))
        return left

    def _equality(self, depth: int) -> Evaluate:
        left = self._order(depth)
        while sign := self._takes("==", "!="):
            left = _binary(OPERATORS[sign], left, self._order(depth))
        return left

    def _order(self, depth: int) -> Evaluate:
        left = self._sum(depth)
        while sign := self._takes("<", "<=", ">", ">="):
            left = _binary(OPERATORS[sign], left, self._sum(depth))
        return left

    def _sum(self, depth: int) -> Evaluate:
        left = self._product(depth)
        while sign := self._takes("+", "-"):
            left = _binary(OPERATORS[sign], left, self._product(depth))
        return left

    def _product(self, depth: int) -> Evaluate:
        left = self._signed(depth)
        while sign := self._takes("*", "/", "%"):
            left = _binary(OPERATORS[sign], left, self._signed(depth))
        return left

    def _signed(self, depth: int) -> Evaluate:
        signs = []
        while sign := self._takes("!", "-"):
            signs.append(sign)
            if len(signs) > SIGNS_LIMIT:
                raise ExpressionError(f"at most {SIGNS_LIMIT} signs may stand before a value")
        value = self._operand(depth)
        for sign in reversed(signs):
            value = _not(value) if sign == "!" else _binary(OPERATORS["-"], lambda _: 0.0, value)
        return value

    def _operand(self, depth: int) -> Evaluate:
        kind, symbol = self.kind, self.symbol
        if kind == "sign" and symbol == "(":
            self._advance()
            inner = self.either(depth + 1)
            if not self._takes(")"):
                raise self.error()
            return inner
        if kind not in ("text", "number", "word"):
            raise self.error()
        self._advance()
        if kind == "word" and self.symbol == "(":
            raise ExpressionError(f"{quote(symbol + '(...)')} cannot be called here: {_NO_SCRIPT}")
        return _operand(kind, symbol)

    def _takes(self, *signs: str) -> str:
        symbol = _SAME.get(self.symbol, self.symbol)
        if self.kind != "sign" or symbol not in signs:
            return ""
        self._advance()
        return symbol

    def _advance(self) -> None:
        """Step to the next token; `kind` is empty where there is none."""
        found = _TOKEN.match(self.source, self.end)
        if found is None:
            self.begin, self.kind, self.symbol = self.end, "", self.source[self.end :].lstrip()[:1]
            return
        self.kind = found.lastgroup or ""
        self.symbol = found[self.kind]
        self.begin, self.end = found.start(self.kind), found.end()

    def error(self) -> ExpressionError:
        if not self.symbol:
            return ExpressionError("a closing brace is missing behind ${")
        if self.symbol == "}":
            return ExpressionError("something is missing before the closing brace of ${...}")
        return ExpressionError(f"{quote(self.symbol)} is not expected in ${{...}}: {_NO_SCRIPT}")


def _operand(kind: str, symbol: str) -> Evaluate:
    if kind == "word" and symbol not in _CONSTANTS:
        return _Name(symbol)
    if kind == "text":
        text = _ESCAPED.sub(lambda found: _CONTROLS.get(found[1], found[1]), symbol[1:-1])
        return lambda _: text
    constant = float(symbol) if kind == "number" else _CONSTANTS[symbol]
    return lambda _: constant


class _Name:
    """The value of a variable."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, lookup: Lookup) -> Value:
        return lookup(self._name)


def _or(branches: Sequence[Evaluate]) -> Evaluate:
    """The first that is true, else the last. A mere name before the last may be unknown."""

    def evaluate(lookup: Lookup) -> Value:
        for branch in branches[:-1]:
            value = _perhaps(branch, lookup)
            if is_true(value):
                return value
        return branches[-1](lookup)

    return evaluate


def _perhaps(value: Evaluate, lookup: Lookup) -> Value:
    """The value; of a mere name that is not known, null."""
    try:
        return value(lookup)
    except UnknownVariable:
        if not isinstance(value, _Name):
            raise
        return None


def _and(left: Evaluate, right: Evaluate) -> Evaluate:
    def evaluate(lookup: Lookup) -> Value:
        value = left(lookup)
        return right(lookup) if is_true(value) else value

    return evaluate


def _not(value: Evaluate) -> Evaluate:
    return lambda lookup: not is_true(_perhaps(value, lookup))


def _binary(operator: Callable[[Value, Value], Value], left: Evaluate, right: Evaluate) -> Evaluate:
    return lambda lookup: operator(left(lookup), right(lookup))
