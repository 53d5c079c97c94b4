"""Values of a document with their locations, so that every error can say where it is."""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from mobiletest_automation.flows.texts import cut, shorten

T = TypeVar("T")

_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*(ms|s|m)?", re.ASCII)
# Bounds of numbers from here on are no help in a message.
WIDE = 1e6

_WHOLE = re.compile(r"[+-]?[0-9]+")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}

Scalar = str | int | float | bool | None

# Those of YAML 1.1, which Maestro reads.
BOOLEAN_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


class DocumentError(ValueError):
    """An error at one location of a document.

    `path` leads from the root to the value ("steps[3].tapOn"). `line` and `column` count from 1 in the text of `file`;
    they are None, and `file` is empty, for values that did not come from text.
    """

    def __init__(self, path: str, line: int | None, column: int | None, message: str, file: str = "") -> None:
        super().__init__(path, line, column, message, file)
        self.path = path
        self.line = line
        self.column = column
        self.message = message
        self.file = file

    def __str__(self) -> str:
        return f"{_where(self.path, self.line, self.column)}: {self.message}"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something in a document that has no effect or may be a mistake; the fields are those of DocumentError."""

    path: str
    line: int | None
    column: int | None
    message: str
    file: str = ""

    def __str__(self) -> str:
        return f"{_where(self.path, self.line, self.column)}: {self.message}"


def _where(path: str, line: int | None, column: int | None) -> str:
    return path if line is None else f"line {line}, column {column} ({path})"


@dataclass(frozen=True, slots=True)
class Location:
    """Where a value is in its document; `file` is the name of a document that is a text."""

    path: str
    line: int | None = None
    column: int | None = None
    file: str = ""

    def error(self, message: str) -> DocumentError:
        """The error to raise about the value at this location."""
        return DocumentError(self.path, self.line, self.column, message, self.file)

    def notice(self, message: str) -> Notice:
        return Notice(self.path, self.line, self.column, message, self.file)


@dataclass(frozen=True, slots=True)
class Node:
    """A scalar, a list or a mapping, and its location.

    `raw` is a scalar as it was written ("007"). A scalar with variables is `pending` until they are filled in, and
    until then reads as some allowed value; `template` is the text that it was filled in from. `pending_key`: the key of
    this value in its mapping has variables. `old_value` is what YAML 1.1, which Maestro reads, makes of a scalar
    without quotes, if `value` differs or is a number or a boolean: `no` is false, 0x0F is 15, and 08 is "08".
    """

    value: "Scalar | tuple[Node, ...] | Mapping[str, Node]"
    location: Location
    raw: str = ""
    key_location: Location | None = None
    pending: bool = False
    pending_key: bool = False
    template: str = ""
    old_value: Scalar = None

    def error(self, message: str) -> DocumentError:
        return self.location.error(message)

    def error_at_key(self, message: str) -> DocumentError:
        """The error to raise about the key of this value."""
        return (self.key_location or self.location).error(message)

    @property
    def is_null(self) -> bool:
        return self.value is None

    @property
    def is_empty(self) -> bool:
        """Whether this is null or a mapping without entries."""
        return self.value is None or self.value == {}

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.value, Mapping)

    def mapping(self) -> "Mapping[str, Node]":
        """The entries of a mapping."""
        if not isinstance(self.value, Mapping):
            raise self.error(f"expected a mapping of names to values, not {self._kind()}")
        return self.value

    def fields(self, allowed: Iterable[str], *, required: Iterable[str] = ()) -> "Mapping[str, Node]":
        """The entries of a mapping that has only `allowed` keys, and all `required` ones."""
        names = tuple(allowed)
        entries = self.mapping()
        for key, node in entries.items():
            if key not in names:
                hint = suggest(key, names) or f"; known: {', '.join(names)}"
                raise node.error_at_key(f"unknown field {quote(key)}{hint}")
        for key in required:
            if key not in entries:
                raise self.error(f"{key} is missing")
        return entries

    def items(self) -> "tuple[Node, ...]":
        """The entries of a list."""
        if not isinstance(self.value, tuple):
            raise self.error(f"expected a list, not {self._kind()}")
        return self.value

    def string(self, *, limit: int = 10_000) -> str:
        """A text of at most `limit` characters; numbers and booleans are taken as they were written."""
        if not isinstance(self.value, str | int | float | bool):
            raise self.error(f"expected text, not {self._kind()}")
        if len(self.raw) > limit:
            raise self.error(f"the text is longer than {limit} characters")
        return self.raw

    @property
    def typed(self) -> "Scalar | tuple[Node, ...] | Mapping[str, Node]":
        """The value; without quotes, what YAML 1.1 makes of it."""
        return self.value if self.old_value is None else self.old_value

    def boolean(self) -> bool:
        """True or false, or another word for it, possibly in quotes; a whole number is false if it is 0."""
        if self.pending:
            return False
        if isinstance(self.value, str) and self.value.lower() in BOOLEAN_WORDS:
            return BOOLEAN_WORDS[self.value.lower()]
        if _WHOLE.fullmatch(self.raw):
            return any(digit not in "+-0" for digit in self.raw)
        if not isinstance(self.value, bool):
            raise self.error(f"expected true or false, not {self._kind()}")
        return self.value

    def integer(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, possibly in quotes."""
        if self.pending:
            return low
        number = self.number(low, high)
        if number != int(number):
            raise self.error(f"expected a whole number, not {self.raw}")
        return int(number)

    def number(self, low: float, high: float) -> float:
        """A number from `low` to `high`, possibly in quotes."""
        if self.pending:
            return low
        try:
            number = float(self.raw) if not isinstance(self.value, bool | None) else float("nan")
        except ValueError:
            number = float("nan")
        if not low <= number <= high:
            bounds = f" from {low} to {high}" if high < WIDE else ""
            raise self.error(f"expected a number{bounds}, not {self._kind()}")
        return number

    def seconds(self, low: float, high: float) -> float:
        """A duration: "500ms", "2s", "1m", or a number of seconds."""
        match = _DURATION.fullmatch(self.raw.strip()) if not isinstance(self.value, bool | None) else None
        if match is None:
            raise self.error(f"expected a duration such as 500ms or 2s, not {self._kind()}")
        seconds = float(match[1]) * _UNITS[match[2] or "s"]
        if not low <= seconds <= high:
            raise self.error(f"expected a duration from {low:g} to {high:g} seconds, not {quote(self.raw)}")
        return seconds

    def choice(self, allowed: Iterable[str]) -> str:
        """One of the `allowed` words, ignoring case."""
        words = tuple(allowed)
        if self.pending:
            return words[0]
        word = self.string().strip().lower()
        if word not in words:
            raise self.error(f"expected one of {', '.join(words)}, not {quote(self.raw)}{suggest(word, words)}")
        return word

    def texts(self, *, limit: int, each: int) -> "tuple[str, ...]":
        """A list of at most `limit` texts of at most `each` characters."""
        items = self.items()
        if len(items) > limit:
            raise self.error(f"more than {limit} entries")
        return tuple(item.string(limit=each) for item in items)

    def count_values(self) -> int:
        """The number of scalars, lists and mappings in it, itself included."""
        inside: Iterable[Node] = ()
        if isinstance(self.value, tuple):
            inside = self.value
        elif isinstance(self.value, Mapping):
            inside = self.value.values()
        return 1 + sum(child.count_values() for child in inside)

    def _kind(self) -> str:
        match self.value:
            case None:
                return "nothing"
            case tuple():
                return "a list"
            case Mapping():
                return "a mapping"
            case bool():
                return self.raw
            case _:
                return quote(self.raw)


def read_optional(entries: Mapping[str, Node], key: str, read: Callable[[Node], T]) -> T | None:
    """The entry as `read` returns it, or None if it is missing."""
    return read(entries[key]) if key in entries else None


def quote(text: str, limit: int = 60) -> str:
    """The text in quotes, in one line and shortened to fit into a message."""
    return f'"{shorten(" ".join(text.split()), limit)}"'


def suggest(word: str, candidates: Iterable[str]) -> str:
    """The hint "; did you mean X?" with the most similar candidate, or an empty text; those that begin alike win."""
    by_folded = {candidate.casefold(): candidate for candidate in candidates}
    folded = cut(word, 100).casefold()
    similar = difflib.get_close_matches(folded, by_folded, n=3, cutoff=0.6)
    alike = [candidate for candidate in similar if candidate[:2] == folded[:2]] or similar
    return f"; did you mean {by_folded[alike[0]]}?" if alike else ""


def scalar_text(value: Scalar) -> str:
    """A JSON scalar as text; a whole float, such as protobuf makes of every number, is written as an integer."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    try:
        return str(value)
    except ValueError:  # an int of more digits than Python is willing to print
        return "a number of thousands of digits"
