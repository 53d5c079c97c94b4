"""Turns an action into an entry of the step cache, and back into the action on a later screen.

Both refuse what is not certain: a wrong action is far worse than a miss.
"""

import re

from mobiletest_automation.ports import ChosenAction
from mobiletest_automation.screen.elements import Element, Point
from mobiletest_automation.screen.fingerprint import fingerprint_of
from mobiletest_automation.screen.locators import (
    Locator,
    content_hash,
    has_number_on_screen,
    locate,
    locator_of,
    wording_hash,
)
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.sentences.grammar import parse_sentence
from mobiletest_automation.sentences.grounder import ground_intent
from mobiletest_automation.sentences.grounding import RefusalReason
from mobiletest_automation.sentences.intents import ELEMENT_CHECKS, Action, Intent, text_of
from mobiletest_automation.step_cache.entries import CacheEntry, RelativePoint, SentenceSpan

_ANY_MATCH_COUNTS = frozenset({Action.ASSERT_VISIBLE, Action.WAIT_FOR, Action.SCROLL_UNTIL_VISIBLE})
_READ_ONLY = _ANY_MATCH_COUNTS | ELEMENT_CHECKS.keys()
_NEVER_CACHED = frozenset({Action.NONE, Action.SCREENSHOT, Action.ASSERT_NOT_VISIBLE})
_ELEMENT_ACTIONS = _READ_ONLY | {Action.TAP, Action.DOUBLE_TAP, Action.LONG_PRESS, Action.TYPE, Action.CLEAR}
# Actions whose value is one of our keywords and not the author's text.
_KEYWORD_VALUES = frozenset({Action.SWIPE, Action.SCROLL, Action.SCROLL_UNTIL_VISIBLE, Action.PRESS_KEY})

_CONDITIONAL = re.compile(
    r"\b(?:if|unless|when|whether|otherwise|else|depending|while|until|as long as)\b", re.IGNORECASE
)
_POSITIONAL = re.compile(
    r"\b(?:first|second|third|fourth|fifth|last|next|\d+(?:st|nd|rd|th)|top|bottom|upper|lower|above|below|under|underneath"
    r"|beneath|over|beside|between|left|right|after|before|near(?:est)?|inside|within)\b",
    re.IGNORECASE,
)
_DURATION = re.compile(r"\d\s*(?:s|ms|secs?|seconds?|milliseconds?|minutes?)\b", re.IGNORECASE)


def make_entry(chosen: ChosenAction, sentence: str, outline: Outline) -> CacheEntry | None:
    """The entry for an action that worked on this screen; None if it could not be restored with certainty."""
    if not _is_cacheable(chosen, sentence):
        return None
    span = _span_of_value(chosen, sentence)
    keyword = chosen.value if chosen.action in _KEYWORD_VALUES else None
    if chosen.value and span is None and keyword is None and chosen.action not in _READ_ONLY:
        return None
    target = None
    if chosen.element is not None:
        target = locator_of(chosen.element, outline, sentence, exact=chosen.action in _READ_ONLY)
        if target is None:
            return None
    needs_content = chosen.point is not None or _depends_on_content(sentence, target, outline)
    return CacheEntry(
        screen=fingerprint_of(outline.root),
        action=chosen.action,
        target=target,
        spot=_relative_point(chosen.point, outline.root) if chosen.point is not None else None,
        value=keyword,
        span=span,
        content=content_hash(outline) if needs_content else None,
        wording=wording_hash(outline) if _depends_on_position(sentence, target) else None,
        ruled=chosen.element is not None and _rules_choose(sentence, chosen.action, chosen.element, outline),
    )


def restore_action(entry: CacheEntry, sentence: str, outline: Outline) -> ChosenAction | None:
    """The action on the present screen; None if it does not fit that screen."""
    if entry.content is not None and entry.content != content_hash(outline):
        return None
    if entry.wording is not None and entry.wording != wording_hash(outline):
        return None
    element = locate(entry.target, outline) if entry.target is not None else None
    if entry.target is not None and element is None:
        return None
    point = None
    if entry.spot is not None:
        if entry.spot.aspect != _aspect(outline.root) or entry.screen != fingerprint_of(outline.root):
            return None
        point = outline.root.bounds.at(entry.spot.x, entry.spot.y)
    value = sentence[entry.span.start : entry.span.end] if entry.span is not None else entry.value
    if element is not None and not _is_still_valid(entry, sentence, element, outline):
        return None
    return ChosenAction(entry.action, element, value, point)


def _is_still_valid(entry: CacheEntry, sentence: str, element: Element, outline: Outline) -> bool:
    """Whether the element is ready for the action, or passes the check, and the rules would not choose another one."""
    action = entry.action
    if not element.enabled and action not in _READ_ONLY:
        return False
    if action is Action.TYPE and not _is_empty_field(element):
        return False
    check = ELEMENT_CHECKS.get(action)
    value = sentence[entry.span.start : entry.span.end] if entry.span is not None else None
    if check is not None and not check(Intent(action=action, value=value), element):
        return False
    renamed = entry.target is not None and not entry.target.exact
    return not entry.ruled or _rules_choose(sentence, action, element, outline, renamed=renamed)


def _rules_choose(sentence: str, action: Action, element: Element, outline: Outline, *, renamed: bool = False) -> bool:
    """Whether the rules alone do this to this element on this screen.

    With `renamed` they may also find nothing: the element's id identifies it, though a number in its name has changed.
    """
    meaning = parse_sentence(sentence)
    if not isinstance(meaning, Intent):
        return False
    grounding = ground_intent(meaning, outline)
    if renamed and grounding.reason is RefusalReason.NOT_FOUND:
        return True
    if grounding.action is not action:
        return False
    return element in grounding.candidates if action in _ANY_MATCH_COUNTS else grounding.element is element


def _is_cacheable(chosen: ChosenAction, sentence: str) -> bool:
    """Not without an element to find again, and not if the action does not say everything that was done."""
    nowhere = chosen.element is None and chosen.point is None
    if chosen.action in _NEVER_CACHED or (chosen.action in _ELEMENT_ACTIONS and nowhere):
        return False
    if chosen.action is Action.TYPE and chosen.element is not None and not _is_empty_field(chosen.element):
        return False
    if chosen.action is Action.LONG_PRESS and _DURATION.search(sentence):
        return False
    if chosen.action is Action.ASSERT_TEXT:
        return chosen.element is not None and chosen.value == text_of(chosen.element) and chosen.value in sentence
    return True


def _is_empty_field(field: Element) -> bool:
    """Whether nothing is typed in: typing appends, so other content would make another text."""
    return text_of(field).strip() in ("", field.hint.strip(), field.label.strip())


def _depends_on_content(sentence: str, target: Locator | None, outline: Outline) -> bool:
    """Whether the choice depended on everything on the screen: by a condition, or by a number beside the element."""
    if _CONDITIONAL.search(sentence):
        return True
    return _depends_on_position(sentence, target) and has_number_on_screen(sentence, outline)


def _depends_on_position(sentence: str, target: Locator | None) -> bool:
    """Whether the choice depended on the order of the elements."""
    return (target is not None and target.equals > 1) or bool(_POSITIONAL.search(sentence))


def _span_of_value(chosen: ChosenAction, sentence: str) -> SentenceSpan | None:
    if not chosen.value or chosen.action in _KEYWORD_VALUES:
        return None
    start = sentence.find(chosen.value)
    return None if start < 0 else SentenceSpan(start, start + len(chosen.value))


def _relative_point(point: Point, root: Element) -> RelativePoint:
    screen = root.bounds
    width, height = screen.width or 1, screen.height or 1
    return RelativePoint((point.x - screen.x) / width, (point.y - screen.y) / height, _aspect(root))


def _aspect(root: Element) -> float:
    return round((root.bounds.width or 1) / (root.bounds.height or 1), 2)
