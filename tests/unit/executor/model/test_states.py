"""The allowed transitions between statuses."""

from itertools import pairwise

import pytest

from services.executor.model.states import NEXT, IllegalTransition, Status, advance

ORDER = ["initializing", "initialized", "queued", "running", "completed"]


def test_the_normal_life_cycle_is_allowed() -> None:
    for now, then in pairwise(ORDER):
        assert advance(Status(now), Status(then)) is Status(then)


@pytest.mark.parametrize("now", ["initializing", "initialized", "queued", "running"])
@pytest.mark.parametrize("then", ["failed", "cancelled"])
def test_open_statuses_can_fail_or_be_cancelled(now: str, then: str) -> None:
    assert advance(Status(now), Status(then)) is Status(then)


@pytest.mark.parametrize("now", ["completed", "failed", "cancelled"])
@pytest.mark.parametrize("then", list(Status))
def test_terminal_statuses_are_final(now: str, then: Status) -> None:
    assert Status(now).terminal
    with pytest.raises(IllegalTransition):
        advance(Status(now), then)


def test_no_transition_goes_backwards_or_to_itself() -> None:
    for now, nexts in NEXT.items():
        if now.value in ORDER:
            behind = ORDER[: ORDER.index(now.value) + 1]
            assert nexts.isdisjoint(Status(name) for name in behind)


def test_a_verdict_requires_a_running_status() -> None:
    assert [now for now, nexts in NEXT.items() if Status.COMPLETED in nexts] == [Status.RUNNING]
