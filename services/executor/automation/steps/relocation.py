"""Finds the element of a chosen action again on a later screen: screens change while a model thinks."""

from dataclasses import replace

from services.executor.automation.ports import ChosenAction
from services.executor.automation.screen.elements import Element, Point, walk
from services.executor.automation.screen.fingerprint import screen_state
from services.executor.automation.screen.locators import locate, locator_of
from services.executor.automation.screen.outline import Outline
from services.executor.automation.sentences.grounder import ground_sentence
from services.executor.automation.sentences.intents import Action


def relocate(chosen: ChosenAction, before: Element, now: Outline) -> ChosenAction | None:
    """The same action on the present screen; None if its element or place is not certain to be there."""
    then = Outline(before)
    unchanged = screen_state(then) == screen_state(now)
    if chosen.action is Action.ASSERT_NOT_VISIBLE:
        return chosen if unchanged else _still_absent(chosen, now)
    if chosen.element is not None:
        element = _same_position(chosen.element, then, now) if unchanged else _locate_again(chosen.element, then, now)
        return replace(chosen, element=element) if element is not None else None
    if chosen.point is not None and not unchanged:
        return chosen if _elements_at(chosen.point, then) == _elements_at(chosen.point, now) else None
    return chosen


def _same_position(element: Element, then: Outline, now: Outline) -> Element | None:
    """The corresponding element of an equal screen."""
    return next((new for old, new in zip(walk(then.root), walk(now.root), strict=True) if old is element), None)


def _locate_again(element: Element, then: Outline, now: Outline) -> Element | None:
    locator = locator_of(element, then, "", exact=True)
    return locate(locator, now) if locator is not None else None


def _still_absent(chosen: ChosenAction, now: Outline) -> ChosenAction | None:
    grounding = ground_sentence(f'I do not see "{chosen.value}"', now.root)
    return replace(chosen, element=grounding.element) if grounding.action is Action.ASSERT_NOT_VISIBLE else None


def _elements_at(point: Point, outline: Outline) -> list[tuple[object, ...]]:
    """The elements at this point."""
    return [(each.role, each.text, each.label, each.bounds) for each in outline.visible if each.bounds.contains(point)]
