"""Rules for swiping and scrolling."""

import re

from mobiletest_automation.sentences.check_rules import reject_vague
from mobiletest_automation.sentences.intents import Action, Intent, NotUnderstood
from mobiletest_automation.sentences.normalizer import NormalizedSentence
from mobiletest_automation.sentences.rule import Meaning, always, rule, with_target

_DIRECTION = r"(?:to\s+the\s+)?(?P<direction>up|down|left|right)(?:wards?)?"
_SURFACE = r"(?:the\s+)?(?:screen|page|list|view|content|app)"
_IN_VIEW = (
    r"(?:is|are|becomes?|to\s+be|comes?|gets?)\s+(?:visible|displayed|shown|on\s+(?:the\s+)?screen|in(?:to)?\s+view)"
)
_SIGHT = rf"(?:\s+(?:{_IN_VIEW}|appears?|shows?\s+up|can\s+be\s+seen))?"
_UNTIL = r"(?P<until>until|till|to\s+find|to\s+see|so\s+that|to)"
_SEEN_BY = r"(?:(?:I|you|we|the\s+user)\s+)?(?:(?:can\s+)?(?:sees?|finds?)\s+)?"
_OPPOSITE = {"up": "down", "down": "up", "left": "right", "right": "left"}
_ENDS = {"bottom": "up", "top": "down", "left": "right", "right": "left"}


def _swipe(sentence: NormalizedSentence, match: re.Match[str]) -> Meaning:
    intent = Intent(action=Action.SWIPE, value=match["direction"].lower())
    target = match.groupdict().get("target")
    return with_target(sentence, target, intent) if target else intent


def _swipe_across(sentence: NormalizedSentence, match: re.Match[str]) -> Meaning:
    start, end = match["start"].lower(), match["end"].lower()
    across = {frozenset({"left", "right"}), frozenset({"top", "bottom"})}
    if frozenset({start, end}) not in across:
        return None
    return Intent(action=Action.SWIPE, value=_ENDS[start])


def _scroll(sentence: NormalizedSentence, match: re.Match[str]) -> Meaning:
    return Intent(action=Action.SCROLL, value=(match["direction"] or "down").lower())


def _scroll_to_end(sentence: NormalizedSentence, match: re.Match[str]) -> Meaning:
    return Intent(action=Action.SCROLL, value="top" if match["end"].lower() in ("top", "up") else "bottom")


def _until(sentence: NormalizedSentence, match: re.Match[str]) -> Meaning:
    said = match.groupdict()
    if said.get("until") == "to" and not _names_an_element(match["target"]):
        return NotUnderstood('it is unclear what to look for: write, for example, Scroll until "Help" is visible')
    if (vague := reject_vague(match["target"])) is not None:
        return vague
    direction = (said.get("direction") or "down").lower()
    if (said.get("verb") or "scroll").lower().startswith(("swip", "flick")):
        direction = _OPPOSITE[direction]
    return with_target(sentence, match["target"], Intent(action=Action.SCROLL_UNTIL_VISIBLE, value=direction))


def _names_an_element(phrase: str) -> bool:
    """ "to Help" and "to the footer" name an element; "to load more" may be the purpose of scrolling."""
    return not phrase[:1].islower() or phrase.startswith("the ")


def _repeated(sentence: NormalizedSentence, match: re.Match[str]) -> Meaning:
    return NotUnderstood("repetitions are not supported in sentences: use the repeat command with times")


SWIPE_RULES = (
    rule(r"(?:swip|scroll|flick)\w*\b.*\b(?:twice|thrice|\d+\s+times|\w+\s+times)", _repeated),
    rule(
        rf"(?:pull|swipe|drag)s?\s+(?:down\s+)?(?:{_SURFACE}\s+)?(?:down\s+)?to\s+refresh",
        always(Intent(action=Action.SWIPE, value="down")),
    ),
    rule(
        r"(?:swipe|flick)s?\s+from\s+(?:the\s+)?(?P<start>left|right|top|bottom)\s+to\s+(?:the\s+)?(?P<end>left|right|top|bottom)",
        _swipe_across,
    ),
    rule(
        rf"(?:keeps?\s+)?(?P<verb>swip|scroll|flick)(?:e|es|s|ing)?(?:\s+(?:{_SURFACE}\s+)?{_DIRECTION})?(?:\s+{_SURFACE})?"
        rf"\s+{_UNTIL}\s+{_SEEN_BY}(?P<target>(?!(?:the\s+)?(?:very\s+)?(?:bottom|top|end|left|right|middle|cent(?:er|re))\b).+?){_SIGHT}",
        _until,
    ),
    rule(r"scrolls?\s+(?P<target>.+?)\s+into\s+view", _until),
    rule(rf"scrolls?\s+(?:{_SURFACE}\s+)?(?:all\s+the\s+way|fully|completely)\s+(?P<end>down|up)", _scroll_to_end),
    rule(
        rf"scrolls?\s+(?:(?:down|up)\s+)?(?:all\s+the\s+way\s+)?(?:down\s+|up\s+)?to\s+(?:the\s+)?(?:very\s+)?(?P<end>bottom|top|end)"
        rf"(?:\s+of\s+{_SURFACE})?",
        _scroll_to_end,
    ),
    rule(rf"(?:swipe|flick)s?\s+(?:{_SURFACE}\s+)?{_DIRECTION}(?:\s+(?:on|across|in|over)\s+{_SURFACE})?", _swipe),
    rule(rf"(?:swipe|flick)s?\s+{_DIRECTION}\s+(?:on|across|over)\s+(?P<target>.+)", _swipe),
    rule(rf"(?:swipe|flick)s?\s+(?:on\s+)?(?P<target>.+?)\s+{_DIRECTION}", _swipe),
    rule(
        rf"scrolls?(?:\s+(?:through\s+|in\s+)?{_SURFACE})?(?:\s+(?P<direction>up|down|left|right))?"
        rf"(?:\s+(?:a\s+(?:little|bit)|once))?(?:\s+(?:on\s+|in\s+)?{_SURFACE})?",
        _scroll,
    ),
)
