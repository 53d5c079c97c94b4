"""Patterns match whole texts as Maestro's regular expressions do, in time that no pattern can stretch."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.flows.automaton import TooMuchWork, Work
from services.flows.patterns import PatternError, compile_pattern


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("Log in", "LOG IN", True),
        ("Log in", "Log in now", False),
        ("Log.*", "Log in", True),
        (".*in", "Log\nin", True),
        ("a b", "a\nb", True),
        (r"\d{2,4}", "12345", False),
        (r"\d{2,4}", "1234", True),
        ("a{2}", "aa", True),
        ("a{2,}", "aaaaa", True),
        ("(red|blue) mug", "Blue mug", True),
        ("(?:ab)+", "ababab", True),
        ("[A-F0-9]+", "c0ffee", True),
        ("[^x]+", "abx", False),
        ("[]x]+", "x]", True),
        (r"[a[]+", "a[", True),
        (r"[a\[]+", "a[", True),
        (r"[a\[]", "\\", False),
        (r"[\\[]+", "\\[", True),
        ("colou?r", "color", True),
        ("^Log in$", "log in", True),
        ("^Failed$|^Error.*$", "Error: declined", True),
        ("(^Error$)", "Error", True),
        ("^Error$", "Error: declined", False),
        (r"\$5\.00", "$5.00", True),
        ("$5.00", "$5.00", True),
        ("a^b", "a^b", True),
        (r"\Qa.b\E", "a.b", True),
        (r"\Qa.b\E", "axb", False),
        ("(?i)abc", "ABC", True),
        (r"\w+\s\S", "ab c", True),
        (r"a\tb", "a\tb", True),
        ("a.*?b", "axxb", True),
        ("", "", True),
        ("x|", "", True),
        ("Straße", "STRASSE", True),
    ],
)
def test_a_pattern_matches_the_whole_text_in_any_case(source: str, text: str, expected: bool) -> None:
    assert compile_pattern(source).matches(text) is expected


@pytest.mark.parametrize("source", ["+", "*", "Total (2", "a)", "[a", "a\\", "a{3,1}", "a**", "[z-a]"])
def test_what_is_no_regular_expression_means_itself(source: str) -> None:
    assert compile_pattern(source).matches(source)
    assert not compile_pattern(source).matches("something else")


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("(?=a)", "look-around"),
        ("(?<name>a)", "look-around"),
        (r"(a)\1", r"\\1 is not supported"),
        (r"\bfoo\b", r"\\b is not supported"),
        ("((a{90}){90})", "too large"),
        ("(" * 60 + "a" + ")" * 60, "nested too deeply"),
    ],
)
def test_what_an_automaton_cannot_do_is_refused(source: str, why: str) -> None:
    with pytest.raises(PatternError, match=why):
        compile_pattern(source)


@pytest.mark.parametrize("source", ["(a+)+$", "(a|a)*b", "(a|aa)+$", ".*a.*a.*a.*a.*b", "(.*)*x"])
def test_no_pattern_takes_long(source: str) -> None:
    """Each of these keeps a backtracking engine busy for longer than the suite may take."""
    assert not compile_pattern(source).matches("a" * 2_000 + "!")


FLAGS = re.IGNORECASE | re.DOTALL | re.MULTILINE
PIECES = st.sampled_from(
    ["a", "b", ".", "[ab]", "[^a]", r"\w", r"\d", "(a|b)", "(?:ab)", "a?", "b*", "a+", "b{1,2}", "c", "^", "b$", "$|^a"]
)


@given(st.lists(PIECES, max_size=6).map("".join), st.text(alphabet="abc1 \n", max_size=8))
def test_it_agrees_with_pythons_engine(source: str, text: str) -> None:
    expected = source.casefold() == text.casefold() or re.fullmatch(source, text, FLAGS) is not None
    assert compile_pattern(source).matches(text) is expected


@given(st.text(max_size=40), st.text(max_size=20))
def test_any_text_is_a_pattern_or_refused(source: str, text: str) -> None:
    try:
        pattern = compile_pattern(source)
    except PatternError:
        return
    assert pattern.matches(source)
    pattern.matches(text)


def test_what_takes_too_much_work_is_an_error_and_no_answer() -> None:
    """Not to match would let a check pass that something is not to be seen."""
    with pytest.raises(TooMuchWork):
        compile_pattern("(a|b)*a[ab]{300}").matches("ab" * 250, Work(10_000))


def test_many_large_expressions_are_read_without_being_made() -> None:
    """Their automata would have 20 million states: half a minute, and gigabytes."""
    assert all(compile_pattern(f"x{number}y{{600}}") for number in range(15_000))
