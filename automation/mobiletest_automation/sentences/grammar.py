"""Parses a sentence into an intent by rules, which have to cover the whole sentence."""

import re
from functools import lru_cache

from mobiletest_automation.sentences import action_rules, check_rules, swipe_rules
from mobiletest_automation.sentences.check_rules import parse_check
from mobiletest_automation.sentences.intents import Intent, NotUnderstood
from mobiletest_automation.sentences.normalizer import LENGTH_LIMIT, VERBS, NormalizedSentence, normalize
from mobiletest_automation.sentences.rule import Meaning, first_match

_FORBIDDEN = re.compile(
    rf"(?:(?:do|does|should|must|can|could|will)\s+not|never|avoid|without|refrain\s+from)\s+(?!(?:be\s+able\s+to\s+)?see\b).*"
    rf"|not\s+{VERBS}.*",
    re.IGNORECASE,
)
_CONDITIONAL = re.compile(
    r"(?:if|unless|when|whenever|while|in\s+case|as\s+long\s+as|once|after|before)\b.*", re.IGNORECASE
)

_UNKNOWN = NotUnderstood(
    'the rules do not understand this sentence; they understand, for example: Tap "Log in". Type "Ada" into "Name". '
    'I see "Welcome". Wait for "Done" for up to 10 seconds. Scroll until "Help" is visible. Go back'
)


@lru_cache(maxsize=4096)
def parse_sentence(sentence: str) -> Intent | NotUnderstood:
    """What the sentence means; the same for every screen."""
    normalized = normalize(sentence)
    if normalized is None:
        return NotUnderstood(f"a sentence has 1 to {LENGTH_LIMIT} ordinary characters")
    return _meaning(normalized) or _UNKNOWN


def _meaning(sentence: NormalizedSentence) -> Meaning:
    text = sentence.text
    if _CONDITIONAL.fullmatch(text):
        return NotUnderstood("conditions are not supported in sentences: use the runFlow command with when")
    if _FORBIDDEN.fullmatch(text):
        return NotUnderstood("the sentence says what not to do: leave it out, or say what must be visible")
    return (
        first_match(check_rules.WAIT_RULES, sentence, text)
        or first_match(swipe_rules.SWIPE_RULES, sentence, text)
        or first_match(action_rules.TEXT_RULES, sentence, text)
        or parse_check(sentence, text)
        or first_match(action_rules.ACTION_RULES, sentence, text)
    )
