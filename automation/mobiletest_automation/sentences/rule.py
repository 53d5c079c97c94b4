"""A rule: a pattern for sentences, and what a sentence that matches it means."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from mobiletest_automation.sentences.intents import Action, Intent, NotUnderstood
from mobiletest_automation.sentences.normalizer import QUOTED, NormalizedSentence
from mobiletest_automation.sentences.shape import Shape
from mobiletest_automation.sentences.targets import is_screen_point, may_say_more, parse_target

Meaning = Intent | NotUnderstood | None
Reader = Callable[[NormalizedSentence, "re.Match[str]"], Meaning]

# A length of time; `seconds_of` makes a number of it.
SECONDS = (
    r"(?P<amount>\d{1,4}(?:\.\d{1,3})?|an?|one|two|three|five|ten)\s*"
    r"(?P<unit>milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m)"
)

_NUMBERS = {"a": 1.0, "an": 1.0, "one": 1.0, "two": 2.0, "three": 3.0, "five": 5.0, "ten": 10.0}


@dataclass(frozen=True, slots=True)
class Rule:
    """`read` is called for a sentence that matches as a whole; it may decline with None."""

    shape: Shape
    read: Reader


def rule(shape: str, read: Reader) -> Rule:
    return Rule(Shape(shape), read)


def first_match(rules: Iterable[Rule], sentence: NormalizedSentence, text: str) -> Meaning:
    """The meaning by the first rule that matches and does not decline."""
    for each in rules:
        match = each.shape.fullmatch(text)
        meaning = each.read(sentence, match) if match is not None else None
        if meaning is not None:
            return meaning
    return None


def always(intent: Intent) -> Reader:
    """For a rule whose sentences all mean the same."""
    return lambda sentence, match: intent


def with_target_group(intent: Intent) -> Reader:
    """For a rule that applies the intent to the element that the group "target" names."""
    return lambda sentence, match: with_target(sentence, match["target"], intent)


def with_target(sentence: NormalizedSentence, phrase: str, intent: Intent) -> Meaning:
    """The intent, with the element that the phrase names."""
    if is_screen_point(phrase):
        return NotUnderstood("points of the screen are not supported in sentences: name the element at that point")
    target = parse_target(sentence, phrase)
    if isinstance(target, NotUnderstood):
        return target
    plain = target.quoted and target.related is None
    target = replace(target, leads=sentence.text.startswith(phrase.strip(" ,")))
    return replace(intent, target=target, whole_phrase=not plain and may_say_more(phrase))


def check_of_target(sentence: NormalizedSentence, phrase: str, intent: Intent) -> Meaning:
    """As `with_target`, for checks: they refuse a phrase that could mean more than a name."""
    meaning = with_target(sentence, phrase, intent)
    if isinstance(meaning, Intent) and meaning.whole_phrase and intent.action not in _OF_ONE_ELEMENT:
        return NotUnderstood(
            "the sentence may say more than one thing: check one thing at a time, with its text in quotes"
        )
    return meaning


# Checks that need an element with exactly that name.
_OF_ONE_ELEMENT = frozenset(
    {Action.ASSERT_ENABLED, Action.ASSERT_DISABLED, Action.ASSERT_CHECKED, Action.ASSERT_UNCHECKED}
)


def seconds_of(match: "re.Match[str]") -> float | None:
    """The seconds in a match of SECONDS; None if the sentence gives no time."""
    amount, unit = match["amount"], (match["unit"] or "").lower()
    if amount is None:
        return None
    number = _NUMBERS.get(amount.lower()) or float(amount)
    if unit.startswith(("ms", "milli")):
        return number / 1000
    return number * 60 if unit.startswith("m") else number


def unquote(sentence: NormalizedSentence, written: str) -> str:
    """The text of a phrase that is one quoted text, else the phrase itself."""
    return sentence.quote(written) if re.fullmatch(QUOTED, written) else written
