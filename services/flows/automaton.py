"""Finite automata that read a text once, put together from pieces (Thompson's construction)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

STATE_LIMIT = 2_000
MEMORY_LIMIT = 50_000
"""How many states an automaton remembers in its transitions, counted with repetition."""

CharacterTest = Callable[[str], bool]
Fragment = tuple[int, int]
"""A piece of an automaton, by the state that it begins with and the one that it ends with."""

Closure = frozenset[int]
Transition = tuple[Closure, str, bool]
"""From which states, by which character, and whether a line ends behind it."""


class TooMuchWork(Exception):
    """What is to be matched takes more work than there is left."""


@dataclass(slots=True)
class Work:
    """What may be done in all: about so many characters or states, elements or pairs of them (2 million take less than
    half a second).
    """

    left: int = 2_000_000

    def spend(self, amount: int) -> None:
        """TooMuchWork when nothing is left."""
        self.left -= amount
        if self.left < 0:
            raise TooMuchWork


@dataclass(slots=True)
class Automaton:
    """States are numbers: each has free moves, or one test of a character and where it leads. What is behind a state in
    `at_begin` or `at_end` is reached only where a line begins or ends.
    """

    free: list[list[int]] = field(default_factory=list)
    tests: list[CharacterTest | None] = field(default_factory=list)
    leads: list[int] = field(default_factory=list)
    at_begin: set[int] = field(default_factory=set)
    at_end: set[int] = field(default_factory=set)
    start: int = 0
    end: int = 0
    _known: dict[Transition, Closure] = field(default_factory=dict)
    _held: int = 0

    def accepts(self, text: str, work: Work) -> bool:
        """Whether the whole text leads from the start to the end. TooMuchWork."""
        current = self._closure([self.start], begins=True, ends=text[:1] in ("", "\n"))
        for location, character in enumerate(text, 1):
            current = self._after((current, character, text[location : location + 1] in ("", "\n")), work)
            if not current:
                return False
        return self.end in current

    def state(self) -> int:
        self.free.append([])
        self.tests.append(None)
        self.leads.append(-1)
        return len(self.free) - 1

    def _after(self, transition: Transition, work: Work) -> Closure:
        known = self._known.get(transition)
        work.spend(1 if known is not None else len(transition[0]) + 1)
        if known is not None:
            return known
        states, character, ends = transition
        reached = self._closure(self._step(states, character), begins=character == "\n", ends=ends)
        work.spend(len(reached))
        self._remember(transition, reached)
        return reached

    def _remember(self, transition: Transition, reached: Closure) -> None:
        self._held += len(reached) + 1
        if self._held > MEMORY_LIMIT:
            self._known, self._held = {}, len(reached) + 1
        self._known[transition] = reached

    def _step(self, states: Iterable[int], character: str) -> list[int]:
        tests, leads = self.tests, self.leads
        return [leads[state] for state in states if (test := tests[state]) is not None and test(character)]

    def _closure(self, states: Iterable[int], *, begins: bool, ends: bool) -> Closure:
        reached: set[int] = set()
        waiting = list(states)
        while waiting:
            state = waiting.pop()
            if state in reached:
                continue
            reached.add(state)
            if (begins or state not in self.at_begin) and (ends or state not in self.at_end):
                waiting.extend(self.free[state])
        return frozenset(reached)


class Piece(NamedTuple):
    """`size` is how many states the piece has, `add` puts it into an automaton; once for each repetition."""

    size: int
    add: Callable[[Automaton], Fragment]


def one(test: CharacterTest) -> Piece:
    """One character that passes the test."""

    def add(automaton: Automaton) -> Fragment:
        begin, end = automaton.state(), automaton.state()
        automaton.tests[begin], automaton.leads[begin] = test, end
        return begin, end

    return Piece(2, add)


def edge(*, of_begin: bool) -> Piece:
    """No character, but the begin or the end of a line."""

    def add(automaton: Automaton) -> Fragment:
        begin, end = automaton.state(), automaton.state()
        automaton.free[begin].append(end)
        (automaton.at_begin if of_begin else automaton.at_end).add(begin)
        return begin, end

    return Piece(2, add)


def chain(pieces: Sequence[Piece]) -> Piece:
    """The pieces one after another; nothing at all if there are none."""

    def add(automaton: Automaton) -> Fragment:
        begin = end = automaton.state()
        for piece in pieces:
            first, last = piece.add(automaton)
            automaton.free[end].append(first)
            end = last
        return begin, end

    return Piece(1 + sum(piece.size for piece in pieces), add)


def either(branches: Sequence[Piece]) -> Piece:
    def add(automaton: Automaton) -> Fragment:
        begin, end = automaton.state(), automaton.state()
        for branch in branches:
            first, last = branch.add(automaton)
            automaton.free[begin].append(first)
            automaton.free[last].append(end)
        return begin, end

    return Piece(2 + sum(branch.size for branch in branches), add)


def repeated(piece: Piece, low: int, high: int | None) -> Piece:
    """The piece at least `low` and at most `high` times; None for any number."""

    def add(automaton: Automaton) -> Fragment:
        begin, end = chain([piece] * low).add(automaton)
        return (begin, _looped(automaton, piece, end) if high is None else _optional(automaton, piece, end, high - low))

    return Piece(1 + piece.size * (low + 1 if high is None else high), add)


def _looped(automaton: Automaton, piece: Piece, end: int) -> int:
    first, last = piece.add(automaton)
    automaton.free[end].append(first)
    automaton.free[last].append(end)
    return end


def _optional(automaton: Automaton, piece: Piece, end: int, times: int) -> int:
    exits = [end]
    for _ in range(times):
        first, end = piece.add(automaton)
        automaton.free[exits[-1]].append(first)
        exits.append(end)
    for state in exits[:-1]:
        automaton.free[state].append(end)
    return end
