"""Grounds checks of what is visible, what is not, and waits for either."""

from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.sentences.doubts import doubt_about_found, doubt_about_missing
from mobiletest_automation.sentences.grounding import (
    CANDIDATES_LIMIT,
    Grounding,
    RefusalReason,
    find_visible,
    ground_first,
    needs_model,
    refuse_missing,
)
from mobiletest_automation.sentences.intents import Action, ElementReference, Intent
from mobiletest_automation.sentences.name_tests import contains_words


def ground_presence(intent: Intent, outline: Outline) -> Grounding:
    """For an element that may still appear: any that matches will do."""
    target = intent.target
    if target is None:
        return Grounding(action=intent.action, value=intent.value)
    elements = find_visible(intent, outline)
    if intent.whole_phrase and not elements:
        return refuse_missing(intent)
    if intent.action is Action.SCROLL_UNTIL_VISIBLE:
        return ground_first(intent.action, elements, intent.value, "" if elements else _missing(target))
    doubt = doubt_about_found(target, elements, outline) if elements else doubt_about_missing(target, outline)
    if doubt is not None:
        return needs_model(doubt)
    return ground_first(intent.action, elements, _shown(intent, target), "" if elements else _missing(target))


def _missing(target: ElementReference) -> str:
    return f"{target} is not on this screen"


def ground_absence(intent: Intent, outline: Outline) -> Grounding:
    """Absence is only checked for words that are certainly the exact text that would be there."""
    target = intent.target
    if target is None:
        return needs_model("say what must not be visible")
    elements = find_visible(intent, outline)
    partial = [] if elements else _partial_matches(target, outline)
    if partial:
        shown = ", ".join(element.describe() for element in partial[:3])
        return Grounding(
            reason=RefusalReason.AMBIGUOUS,
            candidates=tuple(partial[:CANDIDATES_LIMIT]),
            message=f"no text is exactly {target}, but there is {shown}; say the whole text, "
            f'or: I do not see a text containing "{target.name}", or use assertNotVisible, which means the exact text',
        )
    missing = doubt_about_missing(target, outline) if not elements else None
    doubt = doubt_about_found(target, elements, outline) if elements else missing
    if doubt is not None:
        return needs_model(f"quote the exact text that must not be visible: {doubt}" if not elements else doubt)
    return ground_first(intent.action, elements, _shown(intent, target))


def _shown(intent: Intent, target: ElementReference) -> str:
    """What is waited or looked for; the limit, where the sentence says one."""
    return target.name or target.phrase if intent.seconds is None else f"{intent.seconds:g} s"


def _partial_matches(target: ElementReference, outline: Outline) -> list[Element]:
    """Visible elements whose text contains the words of the target among others."""
    if target.partly or target.by_id or target.related is not None:
        return []
    names = [name for name in target.names if len(name) > 1]
    shown = ((element, element.text or element.label) for element in outline.visible)
    return [element for element, text in shown if any(contains_words(text, name) for name in names)]
