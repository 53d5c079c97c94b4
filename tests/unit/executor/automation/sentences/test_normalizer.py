"""Sentences are normalized without changing quoted texts."""

import pytest

from services.executor.automation.sentences.grammar import parse_sentence
from services.executor.automation.sentences.intents import Intent, NotUnderstood
from services.executor.automation.sentences.normalizer import QUOTE_LIMIT, normalize


@pytest.mark.parametrize(
    ("sentence", "quotes"),
    [
        ('Tap "Log in"', ("Log in",)),
        ("Tap 'Log in'", ("Log in",)),
        ("Tap ‘Log in’", ("Log in",)),
        ("Tap “Log in”", ("Log in",)),
        ("Tap «Log in»", ("Log in",)),
        ("Tap `Log in`", ("Log in",)),
        ("Type \"it's\" into 'a b'", ("it's", "a b")),
        ("Don't tap 'Don't allow'", ("Don't allow",)),
        ("I don't see the users' list", ()),
        ('Tap "', ()),
    ],
)
def test_quoted_texts_are_found_in_every_kind_of_quotes(sentence: str, quotes: tuple[str, ...]) -> None:
    worded = normalize(sentence)
    assert worded is not None
    assert worded.quotes == quotes


@pytest.mark.parametrize(
    "sentence",
    [
        *("Tap X", "Please tap X.", "Then, please tap X", "And I tap X!", "2) tap X", "* tap X", "Finally, tap X"),
        "You tap X",
    ],
)
def test_introductions_are_dropped(sentence: str) -> None:
    worded = normalize(sentence)
    assert worded is not None
    assert worded.text.lower() == "tap x"


@pytest.mark.parametrize("sentence", ["", "   ", "x" * 501, "Tap \ue101", '"a" ' * (QUOTE_LIMIT + 1)])
def test_empty_and_overlong_sentences_are_refused(sentence: str) -> None:
    assert normalize(sentence) is None
    assert isinstance(parse_sentence(sentence), NotUnderstood)


def test_names_that_begin_like_introductions_stay() -> None:
    for sentence in ("User name is visible", "Next is visible", "First name is visible"):
        meaning = parse_sentence(sentence)
        assert isinstance(meaning, Intent)
        assert meaning.target is not None
        assert meaning.target.phrase == sentence.removesuffix(" is visible")


def test_durations_are_parsed() -> None:
    seconds = {
        'Wait for "A" for up to 10 seconds': 10,
        'Wait up to 2 minutes for "A"': 120,
        "Wait 250ms": 0.25,
        "Wait a second": 1,
        'Long press "A" for 2 s': 2,
        'Make sure "A" is visible within 5 seconds': 5,
        'Wait for "A"': None,
    }
    for sentence, expected in seconds.items():
        meaning = parse_sentence(sentence)
        assert isinstance(meaning, Intent), sentence
        assert meaning.seconds == expected
