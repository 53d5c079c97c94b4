"""Aims what was decided on a screen at the screen as it is by now: while a model thinks, screens go on."""

from dataclasses import replace

from services.executor.automation.ports import ChosenAction
from services.executor.automation.screen.elements import Element, Point, walk
from services.executor.automation.screen.fingerprint import screen_state
from services.executor.automation.screen.locators import locate, locator_of
from services.executor.automation.screen.outline import Outline
from services.executor.automation.sentences.grounder import ground_sentence
from services.executor.automation.sentences.intents import Action


def relocate(answer: ChosenAction, before: Element, now: Outline) -> ChosenAction | None:
    """The same answer on the present screen; None when what it is about is not there for certain any more."""
    then = Outline(before)
    unchanged = screen_state(then) == screen_state(now)
    if answer.action is Action.ASSERT_NOT_VISIBLE:
        return answer if unchanged else _absent(answer, now)
    if answer.element is not None:
        element = _at_its_place(answer.element, then, now) if unchanged else _found_again(answer.element, then, now)
        return replace(answer, element=element) if element is not None else None
    if answer.point is not None and not unchanged:
        return answer if _under(answer.point, then) == _under(answer.point, now) else None
    return answer


def _at_its_place(element: Element, then: Outline, now: Outline) -> Element | None:
    """Its like on a screen that is the same."""
    return next((new for old, new in zip(walk(then.root), walk(now.root), strict=True) if old is element), None)


def _found_again(element: Element, then: Outline, now: Outline) -> Element | None:
    locator = locator_of(element, then, "", exact=True)
    return locate(locator, now) if locator is not None else None


def _absent(answer: ChosenAction, now: Outline) -> ChosenAction | None:
    grounding = ground_sentence(f'I do not see "{answer.value}"', now.root)
    return replace(answer, element=grounding.element) if grounding.action is Action.ASSERT_NOT_VISIBLE else None


def _under(point: Point, outline: Outline) -> list[tuple[object, ...]]:
    """What is at this point, as far as the tree says."""
    return [(each.role, each.text, each.label, each.bounds) for each in outline.visible if each.bounds.contains(point)]
