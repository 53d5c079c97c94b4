"""Finds the ${...} in a text, and says which values are true.

What is in ${...} is JavaScript, which the executor evaluates when the step runs.
"""

import re
from dataclasses import dataclass
from typing import TypeAlias

Value: TypeAlias = str | int | float | bool | None

OPENING = "${"
_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)|(?P<comment>/\*)|(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"""|(?P<word>[\w$]+)|(?P<sign>.)""",
    re.DOTALL | re.UNICODE,
)
_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/")
# The text of a template literal up to its end or the next ${.
_LITERAL = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*", re.DOTALL)
_BEFORE_REGEX = frozenset(
    ("return", "typeof", "case", "in", "of", "void", "delete", "do", "else", "instanceof", "new", "throw", "await")
)
_REGEX_TRIES = 100
_WORD = re.compile(r"[\w$]+", re.UNICODE)


_JAVA_NUMBER = re.compile(
    r"[\0- ]*([+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?"
    r"|(0x)(?:[\da-f]+(?:\.[\da-f]*)?|\.[\da-f]+)p[+-]?\d+))[fd]?[\0- ]*",
    re.ASCII | re.IGNORECASE,
)


class ExpressionError(ValueError):
    """The expression is malformed, or has no value; `message` says why.

    `position` counts from 0 in the text, and is 0 if there is no value.
    """

    def __init__(self, message: str, position: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


@dataclass(frozen=True, slots=True)
class Expression:
    """The JavaScript in one ${...}."""

    source: str


@dataclass(frozen=True, slots=True)
class Template:
    """A text with ${...} in it, as literal texts and expressions in order; \\${ is a literal ${."""

    parts: tuple[str | Expression, ...]


def is_template(text: str) -> bool:
    return OPENING in text


def parse_template(text: str) -> Template:
    """The template.

    Raises:
        ExpressionError: a ${ has no end.
    """
    parts: list[str | Expression] = []
    position = 0
    while (opening := text.find(OPENING, position)) >= 0:
        if text[position:opening].endswith("\\"):
            parts.append(text[position : opening - 1] + OPENING)
            position = opening + len(OPENING)
            continue
        begin = opening + len(OPENING)
        end = _Finder(text, begin).find_end()
        parts += (text[position:opening], Expression(text[begin:end].strip()))
        position = end + 1
    return Template(tuple(part for part in (*parts, text[position:]) if part != ""))


def identifiers(script: str) -> frozenset[str]:
    """The identifiers in JavaScript, names of properties included; all words of what cannot be told into tokens."""
    finder = _Finder(f"{script}\n}}", 0)
    try:
        ends_inside = finder.find_end() <= len(script)
    except ExpressionError:
        ends_inside = True
    return frozenset(_WORD.findall(script)) if ends_inside else frozenset(finder.words)


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


class _Finder:
    """Reads JavaScript up to the brace that ends it, past those in quotes, comments, templates and other braces.

    `words` are its identifiers, numbers and reserved words.
    """

    def __init__(self, text: str, begin: int) -> None:
        self._text = text
        self._begin = self._position = begin
        self._open: list[str] = []
        self._value_before = False
        self._regex_tries = _REGEX_TRIES
        self.words: set[str] = set()

    def find_end(self) -> int:
        while self._position < len(self._text):
            token = _TOKEN.match(self._text, self._position)
            if token is None:
                break
            if token["sign"] == "}" and not self._open:
                return self._position
            self._position = token.end()
            self._take(token)
        raise ExpressionError("a closing brace is missing after ${", self._begin)

    def _take(self, token: re.Match[str]) -> None:
        match token.lastgroup:
            case "sign":
                self._take_sign(token["sign"])
            case "word":
                self._value_before = token["word"] not in _BEFORE_REGEX
                self.words.add(token["word"])
            case "text":
                self._value_before = True
            case "comment":
                raise ExpressionError("a comment is not closed in ${...}", token.start())

    def _take_sign(self, sign: str) -> None:
        value_before, self._value_before = self._value_before, sign in ")]}"
        match sign:
            case '"' | "'":
                raise ExpressionError("a quote is not closed in ${...}", self._position - 1)
            case "`":
                self._read_literal()
            case "{":
                self._open.append("}")
            case "}" if self._open.pop() == "`":
                self._read_literal()
            case "/" if not value_before:
                self._read_regex()

    def _read_literal(self) -> None:
        """The text of a template literal: to its end, or to the expression in it."""
        match = _LITERAL.match(self._text, self._position)
        end = match.end() if match is not None else self._position
        self._position = end + 1
        if self._text.startswith(OPENING, end):
            self._position += 1
            self._open.append("`")
        self._value_before = not self._text.startswith(OPENING, end)

    def _read_regex(self) -> None:
        """A regular expression, or a division after all."""
        if self._regex_tries == 0:
            raise ExpressionError("too many slashes in ${...}", self._position - 1)
        self._regex_tries -= 1
        match = _REGEX.match(self._text, self._position - 1)
        if match is not None:
            self._position = match.end()
            self._value_before = True
