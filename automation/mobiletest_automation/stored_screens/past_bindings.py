"""What the steps of a test have bound when it passed, so that a pass in which one binds another element says so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain, islice, repeat
from typing import TypeAlias

from mobiletest_automation.flows.texts import cut, cut_beginning
from mobiletest_automation.model.results import BindingChange, BoundElement, StepResult, StepStatus
from mobiletest_automation.screen.identity import from_bound, is_same
from mobiletest_automation.stored_screens.binding_alarm import (
    CHANGES_LIMIT,
    PASSES_LIMIT,
    STEADY_PASSES,
    changed_binding,
)

# Steps of a test and characters of the texts of each element that are kept; the rest is not known.
STEPS_LIMIT = 200
TEXT_LIMIT = 80
PATH_LIMIT = 120
# So many elements are kept of each step: with more its binding is too unsteady for an alarm.
_ELEMENTS = CHANGES_LIMIT + 2
# Steps are forgotten when they have not passed for so many days.
DAYS_KEPT = 90
# More in one pass are not told.
CHANGES_TOLD = 20


@dataclass(frozen=True, slots=True)
class BoundInPasses:
    """An element, and in at least how many passes one after another it was bound."""

    element: BoundElement
    passes: int


@dataclass(frozen=True, slots=True)
class StepPast:
    """What a step has bound, the newest first; `step` is a key of `bound_elements`, `day` its last day's ordinal."""

    step: str
    day: int
    bound: tuple[BoundInPasses, ...]

    @property
    def is_settled(self) -> bool:
        """Whether a pass that binds the newest element says nothing new."""
        return self.bound[0].passes >= STEADY_PASSES or self.is_unsteady

    @property
    def is_unsteady(self) -> bool:
        """Whether a pass says nothing new whatever it binds."""
        return len(self.bound) >= _ELEMENTS


# Of the steps of a test that have passed and have bound an element: its index and the element.
Bindings: TypeAlias = Mapping[str, tuple[int, BoundElement]]


def bound_elements(steps: Sequence[StepResult], test_version: int) -> Bindings:
    """What the steps have bound, by `StepPlace.key`."""
    bindings: dict[str, tuple[int, BoundElement]] = {}
    for step in steps:
        place, element = step.place, step.screen.element if step.screen is not None else None
        if step.status is not StepStatus.PASSED or element is None or place is None or len(bindings) == STEPS_LIMIT:
            continue
        bindings[place.key(test_version)] = (step.index, _shortened(element) if _is_long(element) else element)
    return bindings


def add_pass(
    past: Sequence[StepPast], bindings: Bindings, today: date
) -> tuple[tuple[StepPast, ...], tuple[BindingChange, ...]]:
    """The past with one more pass, equal to the one before if that is nothing new, and what has changed."""
    by_step, day = {step.step: step for step in past}, today.toordinal()
    changes: list[BindingChange] = []
    passed: dict[str, StepPast] = {}
    for step, (index, element) in bindings.items():
        before = by_step.get(step)
        bound = before.bound if before is not None else ()
        elements = chain.from_iterable(repeat(from_bound(each.element), each.passes) for each in bound)
        if message := changed_binding(list(elements), from_bound(element)):
            changes.append(BindingChange(index, message))
        passed[step] = _with_pass(before, step, element, day)
    told = tuple(islice(changes, CHANGES_TOLD))
    if all(step is by_step.get(key) for key, step in passed.items()):
        return tuple(past), told
    others = [step for key, step in by_step.items() if key not in passed and step.day > day - DAYS_KEPT]
    newest_first = sorted(others, key=lambda step: -step.day)
    return tuple(islice(chain(passed.values(), newest_first), STEPS_LIMIT)), told


def _with_pass(before: StepPast | None, step: str, element: BoundElement, day: int) -> StepPast:
    if before is None:
        return StepPast(step, day, (BoundInPasses(_bare(element), 1),))
    newest = before.bound[0]
    if not is_same(from_bound(newest.element), from_bound(element)):
        bound: Sequence[BoundInPasses] = (BoundInPasses(_bare(element), 1), *before.bound)
    elif newest.passes >= STEADY_PASSES and before.day == day:
        return before
    else:
        bound = (BoundInPasses(_bare(element), min(newest.passes + 1, PASSES_LIMIT)), *before.bound[1:])
    return StepPast(step, day, tuple(_last_passes(bound)))


def _last_passes(bound: Sequence[BoundInPasses]) -> Sequence[BoundInPasses]:
    """Those of the last PASSES_LIMIT passes."""
    kept: list[BoundInPasses] = []
    for each in islice(bound, _ELEMENTS):
        left = PASSES_LIMIT - sum(other.passes for other in kept)
        if left > 0:
            kept.append(replace(each, passes=min(each.passes, left)))
    return kept


def _is_long(element: BoundElement) -> bool:
    """Whether a text is to be shortened. Most are not, and copies would be most of what a pass costs."""
    texts = (element.id, element.label, element.text, element.hint, *islice(element.ancestors, 1))
    return len(element.path) > PATH_LIMIT or max(map(len, texts)) > TEXT_LIMIT


def _shortened(element: BoundElement) -> BoundElement:
    return replace(
        element,
        id=cut(element.id, TEXT_LIMIT),
        label=cut(element.label, TEXT_LIMIT),
        text=cut(element.text, TEXT_LIMIT),
        hint=cut(element.hint, TEXT_LIMIT),
        path=cut_beginning(element.path, PATH_LIMIT),
        ancestors=tuple(cut(each, TEXT_LIMIT) for each in islice(element.ancestors, 1)),
    )


def _bare(element: BoundElement) -> BoundElement:
    """What is stored: without what tells no element from another one."""
    return replace(element, ancestors=tuple(islice(element.ancestors, 1)), area=None, found_by="")
