"""Rules for waiting: for a time, or for a condition."""

import re
from dataclasses import replace

from services.executor.automation.sentences.check_rules import CLAUSES, reject_vague
from services.executor.automation.sentences.intents import Action, Intent, NotUnderstood
from services.executor.automation.sentences.normalizer import NormalizedSentence
from services.executor.automation.sentences.rule import SECONDS, Meaning, check_of_target, first_match, rule, seconds_of

_AT_MOST = r"(?:(?:for\s+)?(?:up\s+to|at\s+most|a\s+maximum\s+of)|max(?:imum)?|no\s+(?:more|longer)\s+than|within|for)"
_FOR = r"(?:for|until|till|to\s+see|unless)"
_LOADED = re.compile(
    r"(?P<target>.+?)\s+(?:to\s+(?:finish\s+)?(?:load(?:ing)?|open)|(?:is|has)\s+(?:loaded|opened)|loads|opens)",
    re.IGNORECASE,
)


def _some_time(worded: NormalizedSentence, found: re.Match[str]) -> Meaning:
    seconds = seconds_of(found)
    return Intent(action=Action.WAIT_FOR, seconds=seconds, value=f"{seconds:g} s")


def _until(worded: NormalizedSentence, found: re.Match[str]) -> Meaning:
    meaning = _clause(worded, found["clause"])
    return replace(meaning, seconds=seconds_of(found)) if isinstance(meaning, Intent) else meaning


def _lasting(worded: NormalizedSentence, found: re.Match[str]) -> Meaning:
    return NotUnderstood(
        'it is unclear whether this must last that long or become true by then: write "within" or "for up to"'
    )


def _clause(worded: NormalizedSentence, clause: str) -> Meaning:
    loaded = _LOADED.fullmatch(clause)
    meaning = first_match(CLAUSES, worded, clause)
    if meaning is None:
        phrase = loaded["target"] if loaded else clause
        meaning = reject_vague(phrase) or check_of_target(worded, phrase, Intent(action=Action.ASSERT_VISIBLE))
        if loaded and isinstance(meaning, Intent) and not (meaning.target and meaning.target.quoted):
            return NotUnderstood("it is unclear when this has loaded: wait for a quoted text that is visible then")
    if isinstance(meaning, Intent) and meaning.action is Action.ASSERT_VISIBLE:
        return replace(meaning, action=Action.WAIT_FOR)
    return meaning


RULES = (
    rule(rf"(?:waits?|pauses?|sleeps?)(?:\s+for)?\s+{SECONDS}", _some_time),
    rule(rf"waits?\s+{_AT_MOST}\s+{SECONDS}\s+{_FOR}\s+(?P<clause>.+)", _until),
    rule(rf"waits?\s+{SECONDS}\s+{_FOR}\s+(?P<clause>.+)", _until),
    rule(rf"waits?\s+(?:until|till)\s+.+\s(?:is|are|stays?|remains?)\s.+\sfor\s+{SECONDS}", _lasting),
    rule(rf"waits?\s+{_FOR}\s+(?P<clause>.+?)(?:\s*,?\s+{_AT_MOST}\s+{SECONDS})?", _until),
)
