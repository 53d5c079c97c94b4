"""A backtracking matcher that counts its steps: what a regular expression costs, whatever the machine's pace.

It walks the tree that `re` parses a pattern into, and tries things in the order in which `re` does; `re` itself is
faster (it skips ahead where it can), never slower by more than a constant.
"""

import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

Then = Callable[[int], int]  # goes on at a position; gives the end of the match, or -1
Node = Callable[[int, Then], int]
Char = Callable[[str], bool]

_CATEGORIES: dict[Any, Char] = {
    sre.CATEGORY_DIGIT: str.isdecimal,
    sre.CATEGORY_SPACE: str.isspace,
    sre.CATEGORY_WORD: lambda char: char.isalnum() or char == "_",
    sre.CATEGORY_NOT_DIGIT: lambda char: not char.isdecimal(),
    sre.CATEGORY_NOT_SPACE: lambda char: not char.isspace(),
    sre.CATEGORY_NOT_WORD: lambda char: not (char.isalnum() or char == "_"),
}


class CountingMatcher:
    """One pattern; `steps` rises with every attempt to match a part of it at a position."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.steps = 0
        self._text = ""
        self._ignore_case = bool(pattern.flags & re.IGNORECASE)  # of the part of the pattern that is being read
        self._dot_all = bool(pattern.flags & re.DOTALL)
        self._whole = self._sequence(list(_parser.parse(pattern.pattern, pattern.flags)))

    def fullmatch(self, text: str) -> bool:
        """As re.fullmatch, so far as there is a match."""
        self._text = text
        return self._whole(0, lambda at: at if at == len(text) else -1) >= 0

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """As re.finditer, without matches that are empty."""
        self._text = text
        at = 0
        while at <= len(text):
            end = self._whole(at, lambda end: end)
            if end > at:
                yield at, end
            at = max(end, at + 1)

    def _sequence(self, items: list[Any]) -> Node:
        nodes = [self._node(op, argument) for op, argument in items]

        def match(at: int, then: Then, index: int = 0) -> int:
            if index == len(nodes):
                return then(at)
            return nodes[index](at, lambda end: match(end, then, index + 1))

        return match

    def _node(self, op: Any, argument: Any) -> Node:
        if (char := self._char(op, argument)) is not None:
            return self._one(char)
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            return self._repeat(op, *argument)
        if op is sre.BRANCH:
            return self._branch([self._sequence(list(items)) for items in argument[1]])
        if op is sre.SUBPATTERN:
            return self._subpattern(*argument)
        if op is sre.ATOMIC_GROUP:
            return self._atomic(self._sequence(list(argument)))
        if op in (sre.ASSERT, sre.ASSERT_NOT):
            return self._assertion(*argument, wanted=op is sre.ASSERT)
        assert op is sre.AT, op
        return self._at(argument)

    def _char(self, op: Any, argument: Any) -> Char | None:
        """Whether a character fits, for what matches exactly one."""
        if op is sre.LITERAL:
            return self._literal(chr(argument))
        if op is sre.NOT_LITERAL:
            same = self._literal(chr(argument))
            return lambda char: not same(char)
        if op is sre.ANY:
            return lambda char: self._dot_all or char != "\n"
        if op is sre.IN:
            return self._in(argument)
        return None

    def _literal(self, expected: str) -> Char:
        if not self._ignore_case:
            return expected.__eq__
        lowered = expected.lower()
        return lambda char: char.lower() == lowered

    def _in(self, items: list[Any]) -> Char:
        negated = items[0][0] is sre.NEGATE
        tests = [self._member(op, argument) for op, argument in items if op is not sre.NEGATE]
        return cache(lambda char: any(test(char) for test in tests) is not negated)

    def _member(self, op: Any, argument: Any) -> Char:
        if op is sre.CATEGORY:
            return _CATEGORIES[argument]
        if op is sre.LITERAL:
            return self._literal(chr(argument))
        assert op is sre.RANGE, op
        low, high = argument
        if self._ignore_case:
            return lambda char: any(low <= ord(each) <= high for each in (char.lower(), char.upper()))
        return lambda char: low <= ord(char) <= high

    def _one(self, fits: Char) -> Node:
        def match(at: int, then: Then) -> int:
            self.steps += 1
            return then(at + 1) if at < len(self._text) and fits(self._text[at]) else -1

        return match

    def _branch(self, ways: list[Node]) -> Node:
        def match(at: int, then: Then) -> int:
            for way in ways:
                if (end := way(at, then)) >= 0:
                    return end
            return -1

        return match

    def _subpattern(self, group: Any, added: int, removed: int, items: Any) -> Node:
        outside = self._ignore_case
        self._ignore_case = (outside or bool(added & re.IGNORECASE)) and not removed & re.IGNORECASE
        inner = self._sequence(list(items))
        self._ignore_case = outside
        return inner

    def _atomic(self, inner: Node) -> Node:
        def match(at: int, then: Then) -> int:
            end = inner(at, lambda end: end)
            return then(end) if end >= 0 else -1

        return match

    def _assertion(self, direction: int, items: Any, *, wanted: bool) -> Node:
        inner = self._sequence(list(items))
        width = items.getwidth()[0] if direction < 0 else 0

        def match(at: int, then: Then) -> int:
            begins = at - width
            holds = begins >= 0 and inner(begins, lambda end: end if direction > 0 or end == at else -1) >= 0
            return then(at) if holds is wanted else -1

        return match

    def _at(self, where: Any) -> Node:
        def holds(at: int) -> bool:
            self.steps += 1
            if where in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING):
                return at == 0
            if where in (sre.AT_END, sre.AT_END_STRING):
                return at == len(self._text)
            word = _CATEGORIES[sre.CATEGORY_WORD]
            before, after = at > 0 and word(self._text[at - 1]), at < len(self._text) and word(self._text[at])
            return (before is not after) is (where is sre.AT_BOUNDARY)

        return lambda at, then: then(at) if holds(at) else -1

    def _repeat(self, op: Any, least: int, most: Any, items: Any) -> Node:
        only = list(items)
        fits = self._char(*only[0]) if len(only) == 1 else None
        limit = sys.maxsize if most is sre.MAXREPEAT else int(most)
        if fits is not None:
            return self._repeat_char(op, least, limit, fits)
        inner = self._sequence(only)
        if op is sre.POSSESSIVE_REPEAT and least <= 1:
            return self._repeat_for_good(inner, least, limit)
        greedy = self._repeat_group(inner, least, limit)
        return self._atomic(greedy) if op is sre.POSSESSIVE_REPEAT else greedy

    def _repeat_char(self, op: Any, least: int, most: int, fits: Char) -> Node:
        def match(at: int, then: Then) -> int:
            furthest = at
            while furthest < min(len(self._text), at + most) and fits(self._text[furthest]):
                furthest += 1
            self.steps += furthest - at + 1
            ends = range(furthest, at + least - 1, -1)
            if op is sre.POSSESSIVE_REPEAT:
                ends = ends[:1]
            for end in reversed(ends) if op is sre.MIN_REPEAT else ends:
                self.steps += 1
                if (found := then(end)) >= 0:
                    return found
            return -1

        return match

    def _repeat_group(self, inner: Node, least: int, most: int) -> Node:
        def match(at: int, then: Then, count: int = 0) -> int:
            if count < most:
                found = inner(at, lambda end: match(end, then, count + 1) if end > at else -1)
                if found >= 0:
                    return found
            return then(at) if count >= least else -1

        return match

    def _repeat_for_good(self, inner: Node, least: int, most: int) -> Node:
        """A possessive repeat never gives back what it took, so that it needs no depth."""

        def match(at: int, then: Then) -> int:
            count = 0
            while count < most and (end := inner(at, lambda end: end)) > at:
                at, count = end, count + 1
            return then(at) if count >= least else -1

        return match
