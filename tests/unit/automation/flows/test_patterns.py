"""Patterns match whole texts as Maestro's regular expressions do, in linear time."""

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobiletest_automation.flows.patterns import (
    PatternError,
    WorkBudget,
    WorkBudgetExceeded,
    compile_pattern,
    limit_compile_cost,
)

MATCHES: list[tuple[str, str, bool]] = [
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
    (r"[a\[]+", "a[", True),
    (r"[a\[]", "\\", False),
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
    ("Straße", "STRASSE", False),
    ("Straße", "STRAßE", True),
    ("İstanbul", "istanbul", True),
    ("\u212a", "k", True),
    ("Sold out (now)", "Sold out (now)", True),
    ("Sold out (now)", "SOLD OUT NOW", True),
    ("Sold out (now)", "SOLD OUT (NOW)", False),
    ("A|B", "a|b", False),
    ("[X] {Y}", "[x] {y}", True),
    ("[X] {Y}", "X {Y}", False),
    (r"\x{41}b", "ab", True),
    ("gr(ö|o)ße", "GRÖßE", True),
    (r"\bLog\b.*", "Log in", True),
    (r"\bLog\b.*", "Login", False),
    (r"\p{L}+", "Größe", True),
    (r"\p{L}+", "42", False),
    (r"\p{Greek}+", "Ωμέγα", True),
    (r"\w+", "Größe", False),
    ("(?<name>a)b", "AB", True),
    ("(" * 240 + "a" + ")" * 240, "a", True),
    (r"\*+", "**", True),
    ("[*+]+", "*+", True),
    (r"\Q.*+\E", ".*+", True),
    (r"C\+\+", "C++", True),
    # After a letter, and before another one, the second plus changes nothing.
    *(
        ("C++", "C++", True),
        ("Notepad++ (new)", "Notepad++ (new)", True),
        ("C++ x", "c++ x", False),
        ("C++ x", "CC x", True),
        ("C++", "C", True),
    ),
    ("C++", "D++", False),
    ("a{", "a{", True),
    (r"\p{Alpha}+", "abc", True),
    (r"\p{Alpha}+", "é", False),
    (r"[\P{Digit}1]+", "a1", True),
    (r"[\P{Digit}1]+", "2", False),
    (r"\P{Punct}+", "a.", False),
    (r"\p{IsLatin}+", "né", True),
    (r"\p{IsLatin}+", "я", False),
    (r"a\hb\R", "a\u00a0b\r\n", True),
    (r"\H+", "a b", False),
    (r"a\sb", "a\x0bb", True),
    (r"[]a\[]+", "]a[", True),
    (r"\Q[[a]]\E.", "[[a]]x", True),
    ("a && [x]", "a && x", True),
    ("[[x", "[[x", True),
    ("\ud800.", "\ud800.", True),
    ("a.", "a\ud800", True),
]


def test_patterns_match_the_whole_text_ignoring_case() -> None:
    assert [row for row in MATCHES if compile_pattern(row[0]).matches(row[1]) is not row[2]] == []


@pytest.mark.parametrize("source", ["+", "*", "Total (2", "a)", "[a", "a\\", "a{3,1}", "a**", "[z-a]"])
def test_text_that_is_not_a_regular_expression_matches_itself(source: str) -> None:
    assert compile_pattern(source).matches(source)
    assert not compile_pattern(source).matches("something else")


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("(?=a)", "look-around"),
        ("(?!a)", "look-around"),
        ("(?<=a)", "look-around"),
        ("(?>a)", "look-around"),
        (r"(a)\1", r"\\1 is not supported"),
        (r"a\Z", r"\\Z is not supported"),
        ("[a-z&&[^b]]+", "&& in"),
        ("[[:alpha:]]", "for a bracket"),
        ("[a[b]]", "a class in a class"),
        ("[a[]+", "a class in a class"),
        (r"(a)\12", r"\\1 is not supported"),
        (r"(?U)\w", "the flag U"),
        (r"\p{Lower}", r"\\p\{Lower\} is not a known class"),
        (r"\p{IsAlphabetic}", "is not a known class"),
        (r"\p{Letter}", r"\\p\{Letter\} is not a known class"),
        ("((a{90}){90})", "too large"),
        ("a{2000}", "too large"),
        (r"\p{L}{100}", "too large"),
    ],
)
def test_syntax_beyond_re2_is_refused(source: str, why: str) -> None:
    with pytest.raises(PatternError, match=why):
        compile_pattern(source)


@pytest.mark.parametrize(
    ("source", "quantifier"),
    [
        (".*+", "*+"),
        ("Total: .++", "++"),
        ("a?+", "?+"),
        ("a{2}+", "{2}+"),
        ("(a*+)b", "*+"),
        ("C++C", "++"),
        ("C++.", "++"),
        ("C++x?C", "++"),
        (r"\d++", "++"),
    ],
)
def test_possessive_quantifiers_are_refused_with_what_to_write(source: str, quantifier: str) -> None:
    """As literal text they would let assertNotVisible pass whatever the screen shows."""
    with pytest.raises(PatternError) as error:
        compile_pattern(source)
    assert str(error.value).startswith(f'"{quantifier}" is a possessive quantifier, which is not supported: write')
    assert f"write {quantifier[:-1]} without" in str(error.value)


@pytest.mark.parametrize("source", ["(a+)+$", "(a|a)*b", "(a|aa)+$", ".*a.*a.*a.*a.*b", "(.*)*x"])
def test_matching_takes_linear_time(source: str) -> None:
    """Each of these would keep a backtracking engine busy for years."""
    assert not compile_pattern(source).matches("a" * 2_000 + "!")


FLAGS = re.IGNORECASE | re.DOTALL | re.MULTILINE
PIECES = st.sampled_from(
    ["a", "b", ".", "[ab]", "[^a]", r"\w", r"\d", "(a|b)", "(?:ab)", "a?", "b*", "a+", "b{1,2}", "c", "^", "b$", "$|^a"]
)


@given(st.lists(PIECES, max_size=6).map("".join), st.text(alphabet="abc1 \n", max_size=8))
def test_patterns_agree_with_pythons_engine(source: str, text: str) -> None:
    expected = source == text or re.fullmatch(source, text, FLAGS) is not None
    assert compile_pattern(source).matches(text) is expected


@given(st.text(max_size=40), st.text(max_size=20))
def test_any_text_is_a_pattern_or_is_refused(source: str, text: str) -> None:
    try:
        pattern = compile_pattern(source)
    except PatternError:
        return
    assert pattern.matches(source)
    pattern.matches(text)


@pytest.mark.parametrize(("middle", "expected"), [("a", True), ("b", False)])
def test_answers_are_right_when_the_memory_of_re2_runs_out(middle: str, expected: bool) -> None:
    """Then RE2 continues with a slower algorithm; a wrong "no match" would let assertNotVisible pass."""
    chance = Random(1)
    before, after = ("".join(chance.choices("ab", k=length)) for length in (2_000, 300))
    assert compile_pattern("(a|b)*a[ab]{300}").matches(before + middle + after) is expected


def test_exceeding_the_work_budget_is_an_error_and_not_an_answer() -> None:
    """The answer "no match" would let assertNotVisible pass."""
    with pytest.raises(WorkBudgetExceeded):
        compile_pattern("(a|b)*a[ab]{300}").matches("ab" * 250, WorkBudget(10_000))


def test_the_patterns_of_a_flow_have_a_compile_limit() -> None:
    """A flow can hold 20,000 patterns; compiling large ones without a limit would take a minute."""
    with limit_compile_cost(), pytest.raises(PatternError, match="too large together"):
        list(map(compile_pattern, (f"x{number}y{{600}}" for number in range(2_000))))


def test_equal_patterns_are_compiled_once() -> None:
    with limit_compile_cost(10_000):
        assert all(compile_pattern("the same .{500}") for _ in range(1_000))


def test_the_compile_limit_counts_cached_patterns() -> None:
    """Otherwise a flow that is refused would be accepted when it is sent again, and fail on a worker without cache."""
    sources = [f"again{number}.{{600}}" for number in range(10)]
    for _ in range(2):
        with limit_compile_cost(5_000), pytest.raises(PatternError, match="too large together"):
            list(map(compile_pattern, sources))


def test_the_compile_limit_ends_with_its_flow() -> None:
    with limit_compile_cost(10), pytest.raises(PatternError, match="too large together"):
        compile_pattern("a{77}")
    assert compile_pattern("a{77}").matches("a" * 77)
