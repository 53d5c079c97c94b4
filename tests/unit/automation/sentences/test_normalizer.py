"""Sentences are normalized without changing quoted texts; the corpus has the wordings that are understood."""

import pytest

from mobiletest_automation.sentences.grammar import parse_sentence
from mobiletest_automation.sentences.intents import Intent, NotUnderstood
from mobiletest_automation.sentences.normalizer import QUOTE_LIMIT, normalize


@pytest.mark.parametrize(
    ("sentence", "quotes"), [("Don't tap 'Don't allow'", ("Don't allow",)), ("I don't see the users' list", ())]
)
def test_an_apostrophe_is_not_a_quote(sentence: str, quotes: tuple[str, ...]) -> None:
    worded = normalize(sentence)
    assert worded is not None
    assert worded.quotes == quotes


@pytest.mark.parametrize("sentence", ["   ", "x" * 501, "Tap \ue101", '"a" ' * (QUOTE_LIMIT + 1)])
def test_empty_and_overlong_sentences_are_refused(sentence: str) -> None:
    assert normalize(sentence) is None
    assert isinstance(parse_sentence(sentence), NotUnderstood)


@pytest.mark.parametrize("name", ["User name", "Next", "First name"])
def test_names_that_begin_like_introductions_stay(name: str) -> None:
    meaning = parse_sentence(f"{name} is visible")
    assert isinstance(meaning, Intent)
    assert meaning.target is not None
    assert meaning.target.phrase == name


@pytest.mark.parametrize(
    ("sentence", "seconds"),
    [
        ('Wait up to 2 minutes for "A"', 120),
        ("Wait 250ms", 0.25),
        ("Wait a second", 1),
        ('Long press "A" for 2 s', 2),
        ('Wait for "A"', None),
    ],
)
def test_durations_are_parsed(sentence: str, seconds: float | None) -> None:
    meaning = parse_sentence(sentence)
    assert isinstance(meaning, Intent), sentence
    assert meaning.seconds == seconds
