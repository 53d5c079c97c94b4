"""A hostile message costs bounded work: the steps of matching are counted, so that no clock is asked."""

import re
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from services.reporting.model import volatile_patterns
from services.reporting.model.fingerprint import MAX_LENGTH_WITHOUT_FRAMES, MAX_MESSAGE_LENGTH, normalise
from tests.examples import examples
from tests.fakes.reporting_attempts import NO_DEADLINE
from tests.unit.reporting.backtracking import CountingMatcher
from tests.unit.reporting.failure_corpus import messages

LENGTH = 320  # more than every bound in the patterns but that of a JSON value
STEPS_A_CHARACTER = 1_000
SEARCHED = ("ANSI", "UNPRINTABLE", "TOKEN", "VOLATILE_IN_QUOTES", "IDS")
WHOLE = ("LOG_PREFIX", "FRAME", "VOLATILE_QUOTE", "EXTENSION", "NETWORK", "URL_PARTS")
_WORDS = r"""
a 1 A1 a1f _ . : / - @ # ~ = ? & % < ( [ { ) ] ' " ` “ ‘ „ « ‹ 「 『 \ \" \e[ ^[[ 1; //a[ //a a/ a. a: 1. 1:
1, 1x 1m :: f: 0x a@a. a@ :// a:// at(a :1 (:1 a:1:1 @a:1:1 <a> id=a [id= :id/ UiSelector[ PT1 1- sk-a* desc=
"""
_PHRASES = (
    '1 s ;at a(;at a.a(;#1 a ;#1 a(;from a:1;a (;File ";", line 1;11-11 11:11:11;Mon, 1 Nov 11;'
    "'message':';device ';reason: ';\"message\":\";'a \""
)
PIECES = [" ", "\x1b", "\x1b[", "\x9b", *_WORDS.split(), *_PHRASES.split(";")]


@cache
def matcher(name: str) -> CountingMatcher:
    return CountingMatcher(getattr(volatile_patterns, name))


def steps(text: str) -> dict[str, int]:
    """What each pattern costs on the text."""
    before = {name: matcher(name).steps for name in (*SEARCHED, *WHOLE)}
    for name in SEARCHED:
        for _ in matcher(name).spans(text):
            pass
    for name in WHOLE:
        matcher(name).fullmatch(text)
    return {name: matcher(name).steps - count for name, count in before.items()}


def assert_bounded(text: str) -> None:
    limit = STEPS_A_CHARACTER * len(text)
    assert {name: count for name, count in steps(text).items() if count > limit} == {}


@settings(NO_DEADLINE, max_examples=examples(len(PIECES)))
@given(st.sampled_from(PIECES))
def test_repeating_what_patterns_look_for_costs_bounded_work(piece: str) -> None:
    assert_bounded((piece * LENGTH)[:LENGTH])


@settings(NO_DEADLINE, max_examples=examples(40))
@given(st.sampled_from(PIECES), st.sampled_from(PIECES), st.sampled_from(PIECES))
def test_mixing_them_costs_bounded_work(start: str, repeated: str, end: str) -> None:
    assert_bounded((start + repeated * LENGTH)[: LENGTH - len(end)] + end)


@settings(NO_DEADLINE, max_examples=examples(40))
@given(st.lists(st.sampled_from(PIECES), min_size=2, max_size=5))
def test_repeating_a_mixture_costs_bounded_work(pieces: list[str]) -> None:
    assert_bounded(("".join(pieces) * LENGTH)[:LENGTH])


def test_no_more_is_read_than_the_maximum_length() -> None:
    beyond = "Buy " + "x " * MAX_MESSAGE_LENGTH
    assert normalise(beyond + "1") == normalise(beyond + "2")
    assert MAX_LENGTH_WITHOUT_FRAMES < MAX_MESSAGE_LENGTH


@settings(NO_DEADLINE, max_examples=examples(100))
@given(st.sampled_from(messages()))
def test_the_counting_matcher_matches_as_python_does(text: str) -> None:
    """So that what it counts is what `re` does."""
    for name in SEARCHED:
        pattern: re.Pattern[str] = getattr(volatile_patterns, name)
        assert list(matcher(name).spans(text)) == [match.span() for match in pattern.finditer(text)]
    for line in text.splitlines():
        assert matcher("FRAME").fullmatch(line) is bool(volatile_patterns.FRAME.fullmatch(line))


def test_the_counting_matcher_sees_what_backtracks() -> None:
    """(a+)+b on a text of a's, the usual example, doubles with each character."""
    costs = [_cost(re.compile(r"(?:a+)+b"), "a" * length) for length in (6, 7, 8)]
    assert costs[1] > 1.8 * costs[0]
    assert costs[2] > 1.8 * costs[1]


def _cost(pattern: re.Pattern[str], text: str) -> int:
    counting = CountingMatcher(pattern)
    counting.fullmatch(text)
    return counting.steps
