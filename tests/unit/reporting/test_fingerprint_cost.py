"""A hostile message costs bounded work: a pattern that backtracks outlasts the limit that pytest sets each test."""

from hypothesis import given, settings
from hypothesis import strategies as st

from services.reporting.model.fingerprint import MAX_LENGTH_WITHOUT_FRAMES, MAX_MESSAGE_LENGTH, normalise
from tests.examples import examples
from tests.fakes.reporting_attempts import NO_DEADLINE

_WORDS = r"""
a 1 A1 a1f _ . : / - @ # ~ = ? & % < ( [ { ) ] ' " ` “ ‘ „ « ‹ 「 『 \ \" \e[ ^[[ 1; //a[ //a a/ a. a: 1. 1:
1, 1x 1m :: f: 0x a@a. a@ :// a:// at(a :1 (:1 a:1:1 @a:1:1 <a> id=a [id= :id/ UiSelector[ PT1 1- sk-a* desc=
"""
_PHRASES = (
    '1 s ;at a(;at a.a(;#1 a ;#1 a(;from a:1;a (;File ";", line 1;11-11 11:11:11;Mon, 1 Nov 11;'
    "'message':';device ';reason: ';\"message\":\";'a \""
)
PIECES = [" ", "\x1b", "\x1b[", "\x9b", *_WORDS.split(), *_PHRASES.split(";")]


def repeat(text: str) -> str:
    """As long as a message may be."""
    return (text * MAX_MESSAGE_LENGTH)[:MAX_MESSAGE_LENGTH]


def test_repeating_what_patterns_look_for_costs_bounded_work() -> None:
    for piece in PIECES:
        normalise(repeat(piece))


@settings(NO_DEADLINE, max_examples=examples(100))
@given(st.sampled_from(PIECES), st.lists(st.sampled_from(PIECES), min_size=1, max_size=5), st.sampled_from(PIECES))
def test_repeating_a_mixture_costs_bounded_work(start: str, repeated: list[str], end: str) -> None:
    text = start + repeat("".join(repeated))
    normalise(text[: MAX_MESSAGE_LENGTH - len(end)] + end)


def test_no_more_is_read_than_the_maximum_length() -> None:
    beyond = "Buy " + "x " * MAX_MESSAGE_LENGTH
    assert normalise(beyond + "1") == normalise(beyond + "2")
    assert MAX_LENGTH_WITHOUT_FRAMES < MAX_MESSAGE_LENGTH
