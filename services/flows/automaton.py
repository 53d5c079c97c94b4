"""Finite automata that read a text once, put together from pieces (Thompson's construction)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

STATE_LIMIT = 2_000
WORK_LIMIT = 1_000_000
"""Steps of an automaton for one text (under half a second); what takes more does not match."""

CharacterTest = Callable[[str], bool]
Fragment = tuple[int, int]
"""A piece of an automaton, by the state that it begins with and the one that it ends with."""

Build = Callable[[], Fragment]
"""Adds a piece to the automaton; called once for each repetition."""


class TooLarge(Exception):
    """The automaton would have more than STATE_LIMIT states."""


@dataclass(slots=True)
class Automaton:
    """States are numbers: each has free moves, or one test of a character and where it leads."""

    free: list[list[int]] = field(default_factory=list)
    tests: list[CharacterTest | None] = field(default_factory=list)
    leads: list[int] = field(default_factory=list)
    start: int = 0
    end: int = 0

    def accepts(self, text: str) -> bool:
        """Whether the whole text leads from the start to the end."""
        current = self._closure([self.start])
        work = 0
        for character in text:
            current = self._closure(self._step(current, character))
            work += len(current)
            if not current or work > WORK_LIMIT:
                return False
        return self.end in current

    def one(self, test: CharacterTest) -> Fragment:
        """One character that passes the test."""
        begin, end = self._state(), self._state()
        self.tests[begin], self.leads[begin] = test, end
        return begin, end

    def chain(self, pieces: Sequence[Build]) -> Fragment:
        """The pieces one after another; nothing at all if there are none."""
        begin = end = self._state()
        for piece in pieces:
            first, last = piece()
            self.free[end].append(first)
            end = last
        return begin, end

    def either(self, branches: Sequence[Build]) -> Fragment:
        begin, end = self._state(), self._state()
        for branch in branches:
            first, last = branch()
            self.free[begin].append(first)
            self.free[last].append(end)
        return begin, end

    def repeated(self, build: Build, low: int, high: int | None) -> Fragment:
        """The piece at least `low` and at most `high` times; None for any number."""
        begin, end = self.chain([build] * low)
        if high is None:
            first, last = build()
            self.free[end].append(first)
            self.free[last].append(end)
            return begin, end
        exits = [end]
        for _ in range(high - low):
            first, end = build()
            self.free[exits[-1]].append(first)
            exits.append(end)
        for state in exits[:-1]:
            self.free[state].append(end)
        return begin, end

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

    def _state(self) -> int:
        if len(self.free) >= STATE_LIMIT:
            raise TooLarge
        self.free.append([])
        self.tests.append(None)
        self.leads.append(-1)
        return len(self.free) - 1
