"""Regular expressions that cannot hang: matched in time proportional to the text, whatever the author wrote.

Selectors of Maestro flows are regular expressions that must match a whole text, in any case. Thirty characters can keep
a backtracking engine, and a worker with it, busy for hours, so the expression becomes a finite automaton (Thompson's
construction). What an automaton cannot do (look-around, back-references) is refused when it is written. As in Maestro,
what is no regular expression at all ("+", "Total (2") means itself.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache

STATE_LIMIT = 2_000
TEXT_LIMIT = 20_000
WORK_LIMIT = 1_000_000
"""Steps of an automaton for one text (under half a second); what takes more does not match."""

NESTING_LIMIT = 50

_SPECIAL = frozenset("\\.[](){}*+?|^$")
_FLAGS = re.compile(r"^\(\?[is]{1,2}\)")
_CLASS_ESCAPES = frozenset("dDwWsS")
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}

CharacterTest = Callable[[str], bool]


class PatternError(ValueError):
    """The expression cannot be used; the message says why."""


class _Malformed(Exception):
    """This is no regular expression: it means itself."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A checked expression; `source` as it was written."""

    source: str

    def matches(self, text: str) -> bool:
        """Whether it matches the whole text, in any case; equal texts match even if they have special characters."""
        return len(text) <= TEXT_LIMIT and _matches(self.source, text)


def compiled(source: str) -> Pattern:
    """The pattern; PatternError if the expression is too large or beyond what is supported."""
    _automaton(source)
    return Pattern(source)


@lru_cache(maxsize=8192)
def _matches(source: str, text: str) -> bool:
    texts = {text, text.replace("\n", " ")}
    if any(source.casefold() == each.casefold() for each in texts):
        return True
    automaton = _automaton(source) if _SPECIAL.intersection(source) else None
    return automaton is not None and any(automaton.accepts(each) for each in texts)


@lru_cache(maxsize=1024)
def _automaton(source: str) -> "Automaton | None":
    try:
        return _Parser(_FLAGS.sub("", source)).parse()
    except _Malformed:
        return None


@dataclass(slots=True)
class Automaton:
    """States are numbers: each has free moves, or one test of a character and where it leads."""

    free: list[list[int]] = field(default_factory=list)
    tests: list[CharacterTest | None] = field(default_factory=list)
    leads: list[int] = field(default_factory=list)
    start: int = 0
    end: int = 0

    def accepts(self, text: str) -> bool:
        current = self._closure([self.start])
        work = 0
        for character in text:
            current = self._closure(self._step(current, character))
            work += len(current)
            if not current or work > WORK_LIMIT:
                return False
        return self.end in current

    def _step(self, states: Iterable[int], character: str) -> list[int]:
        tests, leads = self.tests, self.leads
        return [leads[state] for state in states if (test := tests[state]) is not None and test(character)]

    def _closure(self, states: Iterable[int]) -> set[int]:
        reached: set[int] = set()
        waiting = list(states)
        while waiting:
            state = waiting.pop()
            if state not in reached:
                reached.add(state)
                waiting.extend(self.free[state])
        return reached

    def state(self) -> int:
        if len(self.free) >= STATE_LIMIT:
            raise PatternError("the regular expression is too large")
        self.free.append([])
        self.tests.append(None)
        self.leads.append(-1)
        return len(self.free) - 1


Fragment = tuple[int, int]
Build = Callable[[], Fragment]
"""Adds a piece to the automaton; called once per repetition."""


class _Parser:
    """Recursive descent over the usual notation."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.position = 0
        self.depth = 0
        self.automaton = Automaton()

    def parse(self) -> Automaton:
        build = self._alternatives()
        if self.position < len(self.source):
            raise _Malformed
        self.automaton.start, self.automaton.end = build()
        return self.automaton

    def _alternatives(self) -> Build:
        branches = [self._sequence()]
        while self._take("|"):
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else lambda: self._either(branches)

    def _sequence(self) -> Build:
        pieces: list[Build] = []
        while self.position < len(self.source) and self.source[self.position] not in "|)":
            pieces.append(self._repeated())
        return lambda: self._chain(pieces)

    def _repeated(self) -> Build:
        build = self._atom()
        bounds = self._quantifier()
        return build if bounds is None else self._repetition(build, *bounds)

    def _quantifier(self) -> tuple[int, int | None] | None:
        simple = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        character = self._peek()
        found: tuple[int, int | None] | None = None
        if character in simple:
            self.position += 1
            found = simple[character]
        elif counted := re.compile(r"\{(\d{1,4})(,(\d{0,4}))?\}").match(self.source, self.position):
            self.position = counted.end()
            low = int(counted[1])
            found = (low, low if counted[2] is None else int(counted[3]) if counted[3] else None)
        if found is not None:
            self._take("?")  # lazy and greedy are the same where the whole text has to match
        return found

    def _atom(self) -> Build:
        character = self.source[self.position]
        self.position += 1
        match character:
            case "(":
                return self._group()
            case "[":
                return self._character_class()
            case ".":
                return self._one(lambda _: True)
            case "\\":
                return self._escape()
            case "^" | "$":
                return self._anchor(character)
            case "*" | "+" | "?":
                raise _Malformed
            case _:
                return self._literal(character)

    def _group(self) -> Build:
        if self._take("?") and not self._take(":"):
            raise PatternError("look-around and named groups, (?...), are not supported")
        self.depth += 1
        if self.depth > NESTING_LIMIT:
            raise PatternError("the regular expression is nested too deeply")
        build = self._alternatives()
        if not self._take(")"):
            raise _Malformed
        self.depth -= 1
        return build

    def _character_class(self) -> Build:
        found = re.compile(r"\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL).match(self.source, self.position)
        if found is None:
            raise _Malformed
        self.position = found.end()
        return self._one(_tester("[" + found[0].replace("[", "\\[")))

    def _escape(self) -> Build:
        character = self._peek()
        if not character:
            raise _Malformed
        self.position += 1
        if character == "Q":
            return self._quoted()
        if character in _CLASS_ESCAPES:
            return self._one(_tester("\\" + character))
        if character.isalnum() and character not in _CONTROLS:
            raise PatternError(f"\\{character} is not supported")
        return self._literal(_CONTROLS.get(character, character))

    def _quoted(self) -> Build:
        end = self.source.find("\\E", self.position)
        text = self.source[self.position : end if end >= 0 else len(self.source)]
        self.position = end + 2 if end >= 0 else len(self.source)
        pieces = [self._literal(character) for character in text]
        return lambda: self._chain(pieces)

    def _anchor(self, character: str) -> Build:
        at_edge = self.position == 1 if character == "^" else self.position == len(self.source)
        return (lambda: self._chain([])) if at_edge else self._one(lambda _: False)

    def _literal(self, character: str) -> Build:
        folded = character.casefold()
        return self._one(lambda other: other == character or other.casefold() == folded)

    def _one(self, test: CharacterTest) -> Build:
        def build() -> Fragment:
            begin, end = self.automaton.state(), self.automaton.state()
            self.automaton.tests[begin], self.automaton.leads[begin] = test, end
            return begin, end

        return build

    def _chain(self, pieces: list[Build]) -> Fragment:
        begin = end = self.automaton.state()
        for piece in pieces:
            first, last = piece()
            self.automaton.free[end].append(first)
            end = last
        return begin, end

    def _either(self, branches: list[Build]) -> Fragment:
        begin, end = self.automaton.state(), self.automaton.state()
        for branch in branches:
            first, last = branch()
            self.automaton.free[begin].append(first)
            self.automaton.free[last].append(end)
        return begin, end

    def _repetition(self, build: Build, low: int, high: int | None) -> Build:
        if high is not None and high < low:
            raise _Malformed

        def repeated() -> Fragment:
            begin, end = self._chain([build] * low)
            if high is None:
                first, last = build()
                self.automaton.free[end].append(first)
                self.automaton.free[last].append(end)
                return begin, end
            optional = [end]
            for _ in range(high - low):
                first, end = build()
                self.automaton.free[optional[-1]].append(first)
                optional.append(end)
            for state in optional[:-1]:
                self.automaton.free[state].append(end)
            return begin, end

        return repeated

    def _peek(self) -> str:
        return self.source[self.position : self.position + 1]

    def _take(self, character: str) -> bool:
        if self._peek() != character:
            return False
        self.position += 1
        return True


@lru_cache(maxsize=1024)
def _tester(one_character: str) -> CharacterTest:
    """A test of single characters by a class of Python's notation, which cannot backtrack."""
    try:
        expression = re.compile(one_character, re.IGNORECASE)
    except re.error as error:
        raise _Malformed from error
    return lambda character: expression.match(character) is not None
