"""Texts that fit a pattern: faker.regexify, bothify and their kind.

A pattern has letters, `.`, classes, groups, alternatives and repetitions. Those without an end are short, and a text
that becomes long is refused: patterns come from tests.
"""

import re
import string
from collections.abc import Callable, Iterable, Mapping
from itertools import repeat
from random import Random

from mobiletest_automation.flows.texts import cut, cut_beginning

# Of a pattern, and of its text.
LENGTH_LIMIT = 1_000
_DEPTH_LIMIT = 20
# How often more something is repeated at most if there is no end to it.
_OPEN_END = 10

_COUNTS = re.compile(r"[0-9]+(?:,[0-9]*)?")
_VISIBLE = string.ascii_letters + string.digits + string.punctuation + " "
_WORD = string.ascii_letters + string.digits + "_"
_CLASSES: Mapping[str, str] = {"d": string.digits, "w": _WORD, "s": " "}
_CONTROLS: Mapping[str, str] = {"n": "\n", "t": "\t", "r": "\r"}

Draw = Callable[[], str]


class InvalidPattern(ValueError):
    """The message says what is wrong."""


def replace_signs(template: str, random: Random, signs: Mapping[str, str]) -> str:
    """The template with a random letter for each of its `signs`, of those that these stand for."""
    return "".join(random.choice(signs[sign]) if sign in signs else sign for sign in template)


def fitting_text(pattern: str, random: Random) -> str:
    """A text that fits a regular expression.

    Raises:
        InvalidPattern: it is malformed, or uses what is not supported.
    """
    if len(pattern) > LENGTH_LIMIT:
        raise InvalidPattern(f"a pattern has at most {LENGTH_LIMIT} characters")
    return _Generator(pattern, random).generate()


class _Generator:
    """Reads a pattern as functions that draw its parts."""

    def __init__(self, pattern: str, random: Random) -> None:
        self._pattern = pattern
        self._random = random
        self._position = 0
        self._left = LENGTH_LIMIT * 20

    def generate(self) -> str:
        draw = self._alternatives(0)
        if self._position < len(self._pattern):
            raise self._error("has no beginning")
        return draw()

    def _alternatives(self, depth: int) -> Draw:
        if depth > _DEPTH_LIMIT:
            raise InvalidPattern(f"groups are nested at most {_DEPTH_LIMIT} deep")
        branches = [self._sequence(depth)]
        while self._take("|"):
            branches.append(self._sequence(depth))
        return lambda: self._random.choice(branches)()

    def _sequence(self, depth: int) -> Draw:
        parts: list[Draw] = []
        while self._position < len(self._pattern) and self._pattern[self._position] not in "|)":
            parts.append(self._repeated(self._single(depth)))
        return lambda: self._join(parts)

    def _join(self, parts: Iterable[Draw]) -> str:
        """Bounded in its work, too: parts may be empty."""
        text = ""
        for part in parts:
            text += part()
            self._left -= 1
            if len(text) > LENGTH_LIMIT or self._left < 0:
                raise InvalidPattern(f"the text becomes longer than {LENGTH_LIMIT} characters")
        return text

    def _single(self, depth: int) -> Draw:
        sign = self._next()
        match sign:
            case "(":
                if self._take("?") and not self._take(":"):
                    raise self._error("begins a group of a kind that is not available")
                inside = self._alternatives(depth + 1)
                if not self._take(")"):
                    raise self._error("has no end")
                return inside
            case "[":
                letters = self._letters()
                return lambda: self._random.choice(letters)
            case ".":
                return lambda: self._random.choice(_VISIBLE)
            case "^" | "$":
                return lambda: ""
            case "\\":
                letters = self._escaped()
                return lambda: self._random.choice(letters)
            case "*" | "+" | "?" | "{":
                raise self._error("repeats nothing")
        return lambda: sign

    def _repeated(self, draw: Draw) -> Draw:
        least, most = self._counts()
        return lambda: self._join(repeat(draw, self._random.randint(least, most)))

    def _counts(self) -> tuple[int, int]:
        if self._take("?"):
            return 0, 1
        if self._take("*"):
            return 0, _OPEN_END
        if self._take("+"):
            return 1, 1 + _OPEN_END
        if not self._take("{"):
            return 1, 1
        written, end, rest = self._pattern[self._position :].partition("}")
        least, comma, most = written.partition(",")
        if not end or not _COUNTS.fullmatch(written) or len(written) > 9:
            raise self._error("is not a repetition")
        self._position = len(self._pattern) - len(rest)
        low = int(least)
        high = int(most) if most else low + _OPEN_END * bool(comma)
        if high < low:
            raise self._error("is not a repetition")
        return low, high

    def _letters(self) -> str:
        """Of a class, after its bracket."""
        negated, listed = self._take("^"), ""
        while not self._take("]"):
            sign = self._next()
            letters = self._escaped() if sign == "\\" else sign
            if len(letters) == 1 and self._pattern[self._position : self._position + 1] == "-":
                letters = self._range(letters)
            listed += letters
        letters = "".join(sign for sign in _VISIBLE if sign not in listed) if negated else listed
        if not letters:
            raise self._error("is a class without letters")
        return letters

    def _range(self, first: str) -> str:
        self._next()
        if self._pattern[self._position : self._position + 1] == "]":
            return f"{first}-"
        last = self._next()
        last = self._escaped() if last == "\\" else last
        if len(last) != 1 or not ord(first) <= ord(last) <= ord(first) + LENGTH_LIMIT:
            raise self._error("is not a range")
        return "".join(map(chr, range(ord(first), ord(last) + 1)))

    def _escaped(self) -> str:
        """The letters that an escape stands for."""
        sign = self._next()
        if sign.lower() in _CLASSES:
            letters = _CLASSES[sign.lower()]
            return letters if sign.islower() else "".join(each for each in _VISIBLE if each not in letters)
        if sign in _CONTROLS:
            return _CONTROLS[sign]
        if sign.isascii() and sign.isalnum():
            raise self._error("is an escape that is not available")
        return sign

    def _next(self) -> str:
        if self._position >= len(self._pattern):
            raise InvalidPattern("the pattern ends too early")
        self._position += 1
        return self._pattern[self._position - 1]

    def _take(self, sign: str) -> bool:
        is_next = self._pattern.startswith(sign, self._position)
        self._position += is_next
        return is_next

    def _error(self, what: str) -> InvalidPattern:
        place = max(self._position - 1, 0)
        excerpt = cut(cut_beginning(self._pattern, len(self._pattern) - place), 10)
        return InvalidPattern(f'"{excerpt}" at {place} of the pattern {what}')
