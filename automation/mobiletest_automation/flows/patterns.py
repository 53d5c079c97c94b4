"""Regular expressions of selectors, matched by RE2 in time linear in the text.

As in Maestro, a pattern matches a whole text, ignoring case, and "." also matches a line break. Text that is not a
regular expression ("+", "Total (2") matches itself. Look-around, back-references, possessive quantifiers and classes
in classes, which RE2 does not have, are errors: matching them otherwise would let assertNotVisible pass.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import re2

from mobiletest_automation.flows.java_patterns import PlainText, UnsupportedPattern, to_re2

# Bytes that one compiled pattern and its matching may use; RE2 refuses patterns that need more.
MEMORY_LIMIT = 256 * 1024

# How many compiled patterns are cached.
COMPILED_LIMIT = 256

# What compiling all patterns of one flow may cost in all, about half a second; see `_compile_within_budget`.
COST_LIMIT = 1_000_000

# Answers for texts up to this length are cached: the same screen is searched again and again.
SHORT_TEXT = 500

ANSWERS_LIMIT = 8_192

_SPECIAL = frozenset("\\.[](){}*+?|^$")
_MULTILINE = "(?m)"
_REPEAT_COUNTS = re.compile(r"\{(\d+)(?:,(\d*))?\}", re.ASCII)
_answers: dict[tuple[str, str], bool] = {}
_compile_budget: "ContextVar[_CompileBudget | None]" = ContextVar("compile_budget", default=None)


class PatternError(ValueError):
    """The pattern cannot be used; the message says why and what to write instead."""


class WorkBudgetExceeded(Exception):
    """The work takes more than its budget."""


@dataclass(slots=True)
class WorkBudget:
    """How much work may still be done; 2 million units take less than half a second.

    A unit is about one comparison of an element, or one character matched by a small pattern.
    """

    left: int = 2_000_000

    def spend(self, amount: int) -> None:
        """Take a part of the budget.

        Raises:
            WorkBudgetExceeded: nothing is left.
        """
        self.left -= amount
        if self.left < 0:
            raise WorkBudgetExceeded


@dataclass(slots=True)
class _CompileBudget:
    """What is left of the compile limit, and the patterns that were counted."""

    work: WorkBudget
    counted: set[str] = field(default_factory=set)


class _Regex(Protocol):
    """A compiled expression of RE2, whose package has no types."""

    @property
    def programsize(self) -> int:
        """The number of its instructions."""

    def fullmatch(self, text: bytes) -> object | None: ...


@dataclass(frozen=True, slots=True)
class Pattern:
    """A checked pattern; `source` is its text."""

    source: str

    @property
    def is_plain(self) -> bool:
        """Whether it has no sign of regular expressions, so that it only matches its own text."""
        return _SPECIAL.isdisjoint(self.source)

    def matches(self, text: str, budget: WorkBudget | None = None) -> bool:
        """Whether the pattern matches the whole text, ignoring case, or is the very text.

        Raises:
            WorkBudgetExceeded: `budget` (by default one for this text) runs out.
        """
        key = (self.source, text)
        answer = _answers.get(key)
        if answer is None:
            answer = _matches(self.source, text, budget or WorkBudget())
            if len(text) <= SHORT_TEXT:
                _store_answer(key, answer)
        return answer


def compile_pattern(source: str) -> Pattern:
    """The pattern.

    Raises:
        PatternError: it is too large or uses something that RE2 does not have.
    """
    pattern = Pattern(source)
    if not pattern.is_plain:
        try:
            _compile_within_budget(source)
        except WorkBudgetExceeded:
            raise PatternError("the regular expressions of this flow are too large together") from None
    return pattern


@contextmanager
def limit_compile_cost(limit: int = COST_LIMIT) -> Iterator[None]:
    """Limit the total cost of the patterns compiled inside, each counted once; exceeding it is a PatternError."""
    token = _compile_budget.set(_CompileBudget(WorkBudget(limit)))
    try:
        yield
    finally:
        _compile_budget.reset(token)


def _store_answer(key: tuple[str, str], answer: bool) -> None:
    if len(_answers) >= ANSWERS_LIMIT:
        _answers.clear()
    _answers[key] = answer


def _matches(source: str, text: str, budget: WorkBudget) -> bool:
    texts = {text, text.replace("\n", " ")}
    if source in texts:
        return True
    regex = None if _SPECIAL.isdisjoint(source) else _compile(source)
    if regex is None:
        return _fold_case(source) in map(_fold_case, texts)
    return any(_fullmatch(regex, each, budget) for each in texts)


def _fold_case(text: str) -> str:
    """The text without the differences of letter case that Java's expressions ignore: "ß" is not "ss"."""
    return text.lower() if text.isascii() else "".join(map(_fold_letter, text))


@lru_cache(maxsize=4096)
def _fold_letter(letter: str) -> str:
    """By the simple mappings of Unicode, of one letter to one."""
    upper = letter.upper()
    return (upper if len(upper) == 1 else letter).lower()[0]


def _fullmatch(regex: _Regex, text: str, budget: WorkBudget) -> bool:
    """The budget is for the worst case, in which RE2 runs all instructions for every character."""
    budget.spend(len(text) * (1 + regex.programsize // 5))
    return regex.fullmatch(text.encode(errors="replace")) is not None


def _compile_within_budget(source: str) -> None:
    """Cached patterns cost as much as others, so that a flow is not refused once and accepted the next time."""
    budget = _compile_budget.get()
    if budget is None:
        _compile(source)
    elif source not in budget.counted:
        budget.work.spend(len(source) + 200 * source.lower().count("\\p"))
        regex = _compile(source)
        budget.work.spend(regex.programsize if regex is not None else 0)
        budget.counted.add(source)


@lru_cache(maxsize=COMPILED_LIMIT)
def _compile(source: str) -> _Regex | None:
    """The compiled pattern; None for text that is not a regular expression and only matches itself."""
    try:
        regex: _Regex = re2.compile((_MULTILINE + to_re2(source)).encode(errors="surrogatepass"), _options())
    except PlainText:
        return None
    except UnsupportedPattern as error:
        raise PatternError(str(error)) from None
    except re2.error as error:
        refusal = _refusal(error.args[0].decode(errors="replace"))
        if refusal is not None:
            raise PatternError(refusal) from None
        return None
    return regex


@lru_cache(maxsize=1)
def _options() -> object:
    options = re2.Options()
    options.max_mem = MEMORY_LIMIT
    options.case_sensitive = False
    options.dot_nl = True
    options.never_capture = True
    options.log_errors = False
    return options


def _refusal(message: str) -> str | None:
    """Why a pattern with this error of RE2 is refused; None if it is only text that looks like a regular expression."""
    problem, _, part = message.partition(": ")
    match problem:
        case "bad repetition operator" if part.endswith("+"):
            return (
                f'"{part}" is a possessive quantifier, which is not supported: write {part[:-1]} without the last +, '
                "or \\+ for a plus sign"
            )
        case "invalid escape sequence":
            return f"{part} is not supported"
        case "invalid perl operator" | "invalid named capture group":
            return "look-around and other groups that begin with (? are not supported: (?:...) is"
        case "invalid character class range" if part.startswith(("\\", "[")):
            return f"{part} is not a known class or range of characters"
        case "invalid repetition size" if _is_reversed(part):
            return None
        case "invalid repetition size" | "pattern too large - compile failed":
            return "the regular expression is too large"
    return None


def _is_reversed(counts: str) -> bool:
    """Whether a repetition like {3,1} has its larger count first."""
    match = _REPEAT_COUNTS.fullmatch(counts)
    return match is not None and bool(match[2]) and int(match[2]) < int(match[1])
