"""The allowed transitions between statuses."""

import pytest

from mobiletest_automation.model.states import IllegalTransition, Status, advance

OPEN = ["initializing", "initialized", "queued", "running"]


@pytest.mark.parametrize("now", list(Status))
def test_the_next_statuses(now: Status) -> None:
    """The one that follows, a failure or a cancellation; a verdict only of a running one, and nothing after an end."""
    following = dict(zip(OPEN, [*OPEN[1:], "completed"], strict=True))
    allowed = {following[now], "failed", "cancelled"} if now in OPEN else set()
    assert now.terminal is (now not in OPEN)
    for then in Status:
        if then in allowed:
            assert advance(now, then) is then
        else:
            with pytest.raises(IllegalTransition):
                advance(now, then)
