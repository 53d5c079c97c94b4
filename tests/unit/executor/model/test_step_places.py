from collections.abc import Sequence

import pytest

from mobiletest_automation.flows.loader import parse_flow
from mobiletest_automation.flows.steps import walk
from mobiletest_automation.model.attempts import Attempt
from mobiletest_automation.model.results import StepResult, StepStatus
from services.executor.model.step_places import StepPlace, places_of_attempt, places_of_test
from tests.unit.executor.model.builders import NOW

# A step: its depth, its text, and whether it failed. Its kind is "sentence" unless the text begins with another one.
Recorded = tuple[int, str] | tuple[int, str, bool]

LOGIN = ((0, "Tap A"), (0, "runFlow"), (1, "Tap B"), (1, "Tap B"), (0, "Tap B"))


def attempt(*recorded: Recorded, success: bool | None = True) -> Attempt:
    steps = tuple(_step(index, *each) for index, each in enumerate(recorded))
    return Attempt(number=1, worker="worker-1", started_at=NOW, success=success, steps=steps)


def _step(index: int, depth: int, text: str, failed: bool = False) -> StepResult:
    first = text.partition(" ")[0]
    return StepResult(
        index=index,
        kind=first if first in ("runFlow", "repeat", "retry") else "tapOn",
        text=text,
        status=StepStatus.FAILED if failed else StepStatus.PASSED,
        started_at=NOW,
        depth=depth,
    )


def same(places: Sequence[StepPlace | None], others: Sequence[StepPlace | None], *, same_version: bool) -> set[str]:
    """Which steps are the same, as "0=1" for the first one of one attempt and the second one of the other."""
    return {
        f"{first}={second}"
        for first, place in enumerate(places)
        for second, other in enumerate(others)
        if place is not None and other is not None and place.is_same(other, same_version=same_version)
    }


def test_in_one_version_steps_are_known_by_their_number() -> None:
    filled = attempt((0, 'Type "Anna"'), (0, "Tap B"), (0, "Tap B"))
    other = attempt((0, 'Type "Bob"'), (0, "Tap B"), (0, "Tap B"))
    places = places_of_attempt(filled)
    assert same(places, places_of_attempt(other), same_version=True) == {"0=0", "1=1", "2=2"}


def test_steps_inside_others_are_not_taken_for_those_outside() -> None:
    places = places_of_attempt(attempt(*LOGIN))
    assert same(places, places, same_version=True) == {"0=0", "1=1", "2=2", "3=3", "4=4"}


def test_in_another_version_only_unique_texts_are_known() -> None:
    places = places_of_attempt(attempt(*LOGIN))
    other = places_of_attempt(attempt((0, "Tap B"), (0, "Tap A"), (0, "Tap B")))
    assert same(places, other, same_version=False) == {"0=1"}
    shorter = places_of_attempt(attempt((0, "runFlow"), (1, "Tap B")))
    assert same(places, shorter, same_version=False) == {"1=0"}


def test_steps_of_a_failed_attempt_are_not_unique() -> None:
    """Further ones with the same text may come after the failure."""
    whole = places_of_attempt(attempt((0, "Tap A"), (0, "Tap B")))
    cut = places_of_attempt(attempt((0, "Tap A"), (0, "Tap B", True), success=False))
    assert same(whole, cut, same_version=True) == {"0=0", "1=1"}
    assert same(whole, cut, same_version=False) == set()


@pytest.mark.parametrize("depth", [0, 1])
def test_nothing_is_known_of_steps_after_a_failure_beside_them(depth: int) -> None:
    around: tuple[Recorded, ...] = ((0, "runFlow", True),) if depth else ()
    cut = attempt(*around, (depth, "Tap A", True), (depth, "Tap B"), success=False)
    assert places_of_attempt(cut)[-1] is None
    assert None not in places_of_attempt(cut)[:-1]


@pytest.mark.parametrize("loop", ["repeat 2 times", "retry up to 2 times"])
def test_rounds_of_a_loop_are_the_same_steps(loop: str) -> None:
    rounds = attempt((0, loop), (1, "Tap A", True), (1, "Tap A"), (1, "Tap B"), (0, "Tap B"))
    written = attempt((0, loop), (1, "Tap A"), (1, "Tap B"), (0, "Tap B"))
    for same_version in (True, False):
        assert same(places_of_attempt(rounds), places_of_attempt(written), same_version=same_version) == {
            *("0=0", "1=1", "2=1", "3=2", "4=3")
        }


def test_the_steps_of_a_test_have_the_places_of_its_attempts() -> None:
    flow = parse_flow(
        ["Tap A", {"runFlow": {"commands": [{"tapOn": "B"}, "Tap C"]}}, {"repeat": {"times": 2, "commands": ["Tap D"]}}]
    )
    steps = [(step.name, step.title) for step in walk(flow.own_steps)]
    depths = (0, 0, 1, 1, 0, 1)
    recorded = tuple(
        StepResult(index=index, kind=kind, text=text, status=StepStatus.PASSED, started_at=NOW, depth=depth)
        for index, ((kind, text), depth) in enumerate(zip(steps, depths, strict=True))
    )
    ran = Attempt(number=1, worker="worker-1", started_at=NOW, success=True, steps=recorded)
    assert places_of_test(flow.own_steps) == places_of_attempt(ran)
    assert None not in places_of_attempt(ran)
