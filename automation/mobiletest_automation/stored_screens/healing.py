"""Proposes how to write a step whose element has changed; it never guesses, and nothing is changed by it.

A proposal is for the element that the step has bound in its past passes, known on the failed screen by its identity.
Checks are never reworded: what they say is what must be true. One real run with the new step must pass before it is
offered to anybody.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mobiletest_automation.commands.selector_search import find_by_selector
from mobiletest_automation.flows.loader import Json, parse_flow
from mobiletest_automation.flows.nodes import DocumentError
from mobiletest_automation.flows.patterns import WorkBudgetExceeded
from mobiletest_automation.flows.steps import Sentence, Step
from mobiletest_automation.flows.touch_commands import ScrollUntilVisible
from mobiletest_automation.screen.elements import TAPPABLE, Element, Role
from mobiletest_automation.screen.identity import ElementIdentity, identity_of, is_same
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.sentences.grammar import parse_sentence
from mobiletest_automation.sentences.intents import Action, Intent
from mobiletest_automation.stored_screens import HEALING_PASSES
from mobiletest_automation.stored_screens.limits import selector_of
from mobiletest_automation.stored_screens.recheck import recheck
from mobiletest_automation.stored_screens.report import is_check
from mobiletest_automation.stored_screens.verdict import Verdict
from mobiletest_automation.stored_screens.wordings import as_line, name_of, reword

# The share of what else has an id or a name on one of the screens that the other one must have, too.
SAME_SCREEN = 0.5

_ACTIONS = frozenset(
    {Action.TAP, Action.DOUBLE_TAP, Action.LONG_PRESS, Action.TYPE, Action.CLEAR, Action.SWIPE},
)


@dataclass(frozen=True, slots=True)
class PastBinding:
    """What a step has bound in a pass, on this screen."""

    identity: ElementIdentity
    screen: Outline


@dataclass(frozen=True, slots=True)
class Proposal:
    """The step as it could be written, as a value and as a line of a flow; `identity` is the element as it is now.

    On `held_screens` of the past passes it binds the element, too; on the others it finds nothing.
    """

    step: Json
    line: str
    identity: ElementIdentity
    why: str
    held_screens: int


def propose(
    step: Json, failed_screen: Outline, past: Sequence[PastBinding], *, platform: str = "android"
) -> Proposal | None:
    """How to write the step so that it binds the element of its past passes, the newest first; None if that is unsure.

    `step` is written as in a test, and `failed_screen` is the one on which it did not find its element.
    """
    past = past[:HEALING_PASSES]
    parsed = _parse(step)
    if not past or parsed is None or not _is_action(parsed):
        return None
    failure = recheck(parsed, failed_screen, platform=platform)
    if failure.verdict is not Verdict.FAILS or failure.element is not None:
        return None
    before = past[0].identity
    if not all(is_same(each.identity, before) and _is_same_screen(each, failed_screen) for each in past):
        return None
    changed = _find_changed(before, failed_screen, [each.screen for each in past])
    if changed is None:
        return None
    element, why = changed
    now = identity_of(element, failed_screen)
    for reworded in reword(step, before, now):
        new = _parse(reworded)
        if new is None or not _binds(new, element, failed_screen, platform):
            continue
        held = _count_held(new, now, past, platform)
        if held is not None:
            return Proposal(
                reworded, as_line(reworded), now, f"{before.describe()} is now {now.describe()}: {why}", held
            )
    return None


def _parse(step: Json) -> Step | None:
    try:
        (parsed,) = parse_flow([step]).steps
    except (DocumentError, ValueError):
        return None
    return parsed


def _is_action(step: Step) -> bool:
    """Whether it acts on an element that it names; looking for one while scrolling may be a check."""
    if isinstance(step.command, Sentence):
        meaning = parse_sentence(step.command.text)
        return isinstance(meaning, Intent) and meaning.action in _ACTIONS and meaning.target is not None
    looks = is_check(step.command) or isinstance(step.command, ScrollUntilVisible)
    return not looks and selector_of(step.command) is not None


def _is_same_screen(past: PastBinding, now: Outline) -> bool:
    """Whether enough of what else names something is on both: on another screen an id may mean something else."""
    then, shown = _names(past.screen, past.identity), _names(now, past.identity)
    return len(then & shown) >= max(1, SAME_SCREEN * max(len(then), len(shown)))


def _names(outline: Outline, apart_from: ElementIdentity) -> set[str]:
    identities = (identity_of(each, outline) for each in outline.visible)
    return {each.id or each.words for each in identities} - {"", apart_from.id, apart_from.words}


def _find_changed(before: ElementIdentity, now: Outline, past: Sequence[Outline]) -> tuple[Element, str] | None:
    """The element as it is now, and how it is known; None if it is gone, or if another one could be it."""
    if before.id and _with_id(now, before.id):
        return _find_by_id(before, now, past)
    return _find_by_text(before, now, past)


def _find_by_id(before: ElementIdentity, now: Outline, past: Sequence[Outline]) -> tuple[Element, str] | None:
    """The only one with its id, then and now, of which the role or the text is as before."""
    elements = _with_id(now, before.id)
    if len(elements) != 1 or any(len(_with_id(each, before.id)) != 1 for each in past):
        return None
    identity = identity_of(elements[0], now)
    alike = identity.role is before.role or (
        identity.words == before.words and {identity.role, before.role} <= TAPPABLE
    )
    return (elements[0], f"only it has the id {before.id}, as before") if alike else None


def _find_by_text(before: ElementIdentity, now: Outline, past: Sequence[Outline]) -> tuple[Element, str] | None:
    """The only one with its text, then and now, in the same place, which is not another one that was there before."""
    name = name_of(before)
    elements = _with_name(now, name) if name else []
    if len(elements) != 1 or any(len(_with_name(each, name)) != 1 for each in past):
        return None
    identity = identity_of(elements[0], now)
    if identity.role is not before.role and not {identity.role, before.role} <= TAPPABLE - {Role.FIELD}:
        return None
    if identity.id and any(_with_id(each, identity.id) for each in past):
        return None
    if not _is_in_place(before, identity):
        return None
    return elements[0], "only it has this text, in the same place as before"


def _is_in_place(before: ElementIdentity, now: ElementIdentity) -> bool:
    """Whether its middle is where it was, inside of the same; a path does not say where among others it was."""
    return before.ancestors == now.ancestors and before.bounds.contains(now.bounds.center)


def _with_id(outline: Outline, identifier: str) -> list[Element]:
    return [each for each in outline.visible if each.id and identity_of(each, outline).id == identifier]


def _with_name(outline: Outline, name: str) -> list[Element]:
    """Of nested elements the innermost."""
    named = [each for each in outline.visible if name in (each.text, each.label, each.hint)]
    return outline.innermost(named)


def _binds(step: Step, element: Element, outline: Outline, platform: str) -> bool:
    """Whether the step acts on this element, and no other one matches."""
    if recheck(step, outline, platform=platform).element is not element:
        return False
    selector = selector_of(step.command)
    try:
        return selector is None or find_by_selector(selector, outline) == [element]
    except WorkBudgetExceeded:
        return False


def _count_held(step: Step, now: ElementIdentity, past: Sequence[PastBinding], platform: str) -> int | None:
    """On how many screens of the past passes the new step binds their element, too; None if it fits not all of them."""
    held = 0
    for each in past:
        answer = recheck(step, each.screen, platform=platform)
        if answer.verdict is Verdict.HOLDS and answer.identity is not None and is_same(answer.identity, each.identity):
            held += 1
        elif answer.verdict is not Verdict.FAILS or not _is_unnamed(now, each):
            return None
    return held


def _is_unnamed(now: ElementIdentity, past: PastBinding) -> bool:
    """Whether finding nothing fits this screen: the element had another name or id, no other one had the new name."""
    name, renamed = name_of(now), name_of(now) != name_of(past.identity)
    if not (renamed or now.id != past.identity.id):
        return False
    return not (renamed and name and _with_name(past.screen, name))
