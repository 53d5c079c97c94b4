"""Reads a sentence into an intent by rules; what they do not cover wholly is not understood, never half understood."""

import re
from functools import lru_cache

from services.executor.automation.sentences import doing, entering, moving, waiting
from services.executor.automation.sentences.checking import read_check
from services.executor.automation.sentences.intents import Intent, NotUnderstood
from services.executor.automation.sentences.rules import Meaning, first_meaning
from services.executor.automation.sentences.wording import LENGTH_LIMIT, VERBS, Worded, word

_FORBIDDEN = re.compile(
    rf"(?:(?:do|does|should|must|can|could|will)\s+not|never|avoid|without|refrain\s+from)\s+(?!(?:be\s+able\s+to\s+)?see\b).*"
    rf"|not\s+{VERBS}.*",
    re.IGNORECASE,
)
_CONDITIONAL = re.compile(
    r"(?:if|unless|when|whenever|while|in\s+case|as\s+long\s+as|once|after|before)\b.*", re.IGNORECASE
)

_UNKNOWN = NotUnderstood(
    'the sentence is not one that the rules understand; they know such as: Tap "Log in". Type "Ada" into "Name". '
    'I see "Welcome". Wait for "Done" for up to 10 seconds. Scroll until "Help" is visible. Go back'
)


@lru_cache(maxsize=4096)
def understand(sentence: str) -> Intent | NotUnderstood:
    """What the sentence means; the same for every screen."""
    worded = word(sentence)
    if worded is None:
        return NotUnderstood(f"a sentence has 1 to {LENGTH_LIMIT} ordinary characters")
    return _meaning(worded) or _UNKNOWN


def _meaning(worded: Worded) -> Meaning:
    text = worded.text
    if _CONDITIONAL.fullmatch(text):
        return NotUnderstood("conditions are not understood: use the runFlow command with its when")
    if _FORBIDDEN.fullmatch(text):
        return NotUnderstood("the sentence says what not to do: leave it out, or say what is to be seen")
    return (
        first_meaning(waiting.RULES, worded, text)
        or first_meaning(moving.RULES, worded, text)
        or first_meaning(entering.RULES, worded, text)
        or read_check(worded, text)
        or first_meaning(doing.RULES, worded, text)
    )
