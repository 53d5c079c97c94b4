"""Regular expressions that cannot hang: matched in time proportional to the text, whatever the author wrote.

Selectors of Maestro flows are regular expressions that must match a whole text, in any case. Thirty characters can keep
a backtracking engine, and a worker with it, busy for hours, so the expression becomes a finite automaton (Thompson's
construction). What an automaton cannot do (look-around, back-references) is refused when it is written. As in Maestro,
what is no regular expression at all ("+", "Total (2") means itself.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from services.flows.automaton import (
    STATE_LIMIT,
    Automaton,
    CharacterTest,
    Piece,
    Work,
    chain,
    edge,
    either,
    one,
    repeated,
)

SHORT_TEXT = 500
"""Answers about texts up to this length are remembered: a screen is looked at again and again."""

ANSWERS_LIMIT = 8_192
NESTING_LIMIT = 50

_SPECIAL = frozenset("\\.[](){}*+?|^$")
_FLAGS = re.compile(r"^\(\?[is]{1,2}\)")
_ESCAPED_OR_BRACKET = re.compile(r"\\.|\[", re.DOTALL)
_COUNTED = re.compile(r"\{(\d{1,4})(,(\d{0,4}))?\}")
_CLASS = re.compile(r"\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_CLASS_ESCAPES = frozenset("dDwWsS")
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}

_answers: dict[tuple[str, str], bool] = {}


class PatternError(ValueError):
    """The expression cannot be used; the message says why."""


class _Malformed(Exception):
    """This is no regular expression: it means itself."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A checked expression; `source` as it was written."""

    source: str

    def matches(self, text: str, work: Work | None = None) -> bool:
        """Whether it matches the whole text, in any case; equal texts match even if they have special characters.

        TooMuchWork when `work`, that of one text if it is not given, is used up.
        """
        key = (self.source, text)
        known = _answers.get(key)
        if known is None:
            known = _matches(self.source, text, work or Work())
            if len(text) <= SHORT_TEXT:
                _remember(key, known)
        return known


def compile_pattern(source: str) -> Pattern:
    """The pattern; PatternError if the expression is too large or beyond what is supported."""
    _piece(source)
    return Pattern(source)


def _remember(key: tuple[str, str], answer: bool) -> None:
    if len(_answers) >= ANSWERS_LIMIT:
        _answers.clear()
    _answers[key] = answer


def _matches(source: str, text: str, work: Work) -> bool:
    texts = {text, text.replace("\n", " ")}
    if any(source.casefold() == each.casefold() for each in texts):
        return True
    automaton = _automaton(source) if _SPECIAL.intersection(source) else None
    return automaton is not None and any(automaton.accepts(each, work) for each in texts)


@lru_cache(maxsize=256)
def _automaton(source: str) -> "Automaton | None":
    piece = _piece(source)
    if piece is None:
        return None
    automaton = Automaton()
    automaton.start, automaton.end = piece.add(automaton)
    return automaton


def _piece(source: str) -> Piece | None:
    """What the automaton is made of; None for what means itself. Its size is known before it is made."""
    try:
        piece = _Parser(_FLAGS.sub("", source)).parse()
    except _Malformed:
        return None
    if piece.size > STATE_LIMIT:
        raise PatternError("the regular expression is too large")
    return piece


class _Parser:
    """Recursive descent over the usual notation."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.position = 0
        self.depth = 0

    def parse(self) -> Piece:
        piece = self._alternatives()
        if self.position < len(self.source):
            raise _Malformed
        return piece

    def _alternatives(self) -> Piece:
        branches = [self._sequence()]
        while self._take("|"):
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else either(branches)

    def _sequence(self) -> Piece:
        pieces: list[Piece] = []
        while self.position < len(self.source) and self.source[self.position] not in "|)":
            pieces.append(self._repeated())
        return chain(pieces)

    def _repeated(self) -> Piece:
        piece = self._atom()
        bounds = self._quantifier()
        return piece if bounds is None else _repetition(piece, *bounds)

    def _quantifier(self) -> tuple[int, int | None] | None:
        simple = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        character = self._peek()
        found: tuple[int, int | None] | None = None
        if character in simple:
            self.position += 1
            found = simple[character]
        elif counted := _COUNTED.match(self.source, self.position):
            self.position = counted.end()
            low = int(counted[1])
            found = (low, low if counted[2] is None else int(counted[3]) if counted[3] else None)
        if found is not None:
            self._take("?")  # lazy and greedy are the same where the whole text has to match
        return found

    def _atom(self) -> Piece:
        character = self.source[self.position]
        self.position += 1
        match character:
            case "(":
                return self._group()
            case "[":
                return self._character_class()
            case ".":
                return one(lambda _: True)
            case "\\":
                return self._escape()
            case "^" | "$":
                return edge(of_begin=character == "^")
            case "*" | "+" | "?":
                raise _Malformed
            case _:
                return _literal(character)

    def _group(self) -> Piece:
        if self._take("?") and not self._take(":"):
            raise PatternError("look-around and named groups, (?...), are not supported")
        self.depth += 1
        if self.depth > NESTING_LIMIT:
            raise PatternError("the regular expression is nested too deeply")
        piece = self._alternatives()
        if not self._take(")"):
            raise _Malformed
        self.depth -= 1
        return piece

    def _character_class(self) -> Piece:
        found = _CLASS.match(self.source, self.position)
        if found is None:
            raise _Malformed
        self.position = found.end()
        return one(_tester("[" + _ESCAPED_OR_BRACKET.sub(_escaped, found[0])))

    def _escape(self) -> Piece:
        character = self._peek()
        if not character:
            raise _Malformed
        self.position += 1
        if character == "Q":
            return self._quoted()
        if character in _CLASS_ESCAPES:
            return one(_tester("\\" + character))
        if character.isalnum() and character not in _CONTROLS:
            raise PatternError(f"\\{character} is not supported")
        return _literal(_CONTROLS.get(character, character))

    def _quoted(self) -> Piece:
        end = self.source.find("\\E", self.position)
        text = self.source[self.position : end if end >= 0 else len(self.source)]
        self.position = end + 2 if end >= 0 else len(self.source)
        return chain([_literal(character) for character in text])

    def _peek(self) -> str:
        return self.source[self.position : self.position + 1]

    def _take(self, character: str) -> bool:
        if self._peek() != character:
            return False
        self.position += 1
        return True


def _literal(character: str) -> Piece:
    folded = character.casefold()
    return one(lambda other: other == character or other.casefold() == folded)


def _repetition(piece: Piece, low: int, high: int | None) -> Piece:
    if high is not None and high < low:
        raise _Malformed
    return repeated(piece, low, high)


def _escaped(found: re.Match[str]) -> str:
    return "\\[" if found[0] == "[" else found[0]


@lru_cache(maxsize=1024)
def _tester(one_character: str) -> CharacterTest:
    """A test of single characters by a class of Python's notation, which cannot backtrack."""
    try:
        expression = re.compile(one_character, re.IGNORECASE)
    except re.error as error:
        raise _Malformed from error
    return lambda character: expression.match(character) is not None
