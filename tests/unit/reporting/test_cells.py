"""Failures of a test on a build fall into groups by what they say, whatever else was on the screen."""

from dataclasses import replace

import pytest

from services.reporting.model.snapshots import Failure
from tests.fakes.reporting_story import Story

REASON = 'text "Pay" was not found'
MISSING = [
    Failure("element_not_found", f"{REASON} within 30 s. On the screen: {order}.", "tapOn", 3, reason=REASON)
    for order in ("Order 4711", "Order 4712")
]
WAITING = [Failure("step_timeout", f"not idle after {waited}") for waited in ("30 s", "12.5 s")]


@pytest.mark.parametrize(
    ("failures", "reason"),
    [
        (MISSING, REASON),
        (
            [Failure("step_timeout", f"not idle after {waited}") for waited in ("30 s", "12.5 s")],
            "not idle after <time>",
        ),
        ([Failure("session_lost", "")], "session_lost"),
    ],
    ids=["reason", "message", "category"],
)
async def test_failures_are_grouped_by_reason_else_message_else_category(
    story: Story, failures: list[Failure], reason: str
) -> None:
    build = story.build("1.0")
    for failure in failures:
        story.run("t", build, "failed", failure=failure)
    (group,) = story.tables.cells.get(("app-1", "t", build.id)).groups  # type: ignore[union-attr]
    newest = failures[-1]
    assert (group.count, group.reason) == (len(failures), reason)
    assert (group.sample_message, group.category) == (newest.message, newest.category)


async def test_a_step_that_moves_fails_in_the_same_way(story: Story) -> None:
    """The group has the position of the newest failure."""
    build = story.build("1.0")
    for line in (4, 9):
        story.run("t", build, "failed", failure=replace(MISSING[0], position=("main.yaml", line, 3)))
    (group,) = story.tables.cells.get(("app-1", "t", build.id)).groups  # type: ignore[union-attr]
    assert (group.count, group.position) == (2, ("main.yaml", 9, 3))
