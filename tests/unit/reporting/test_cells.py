"""Failures of a test on a build fall into groups by what they say, whatever else was on the screen."""

from services.reporting.model.snapshots import Failure
from tests.fakes.reporting_story import Story


def _missing(screen: str) -> Failure:
    said = 'text "Pay" was not found'
    return Failure("element_not_found", f"{said} within 30 s. On the screen: {screen}.", "tapOn", 3, reason=said)


async def test_failures_are_grouped_by_reason_and_show_a_full_message(story: Story) -> None:
    story.app()
    build = story.build("1.0")
    story.run("t", build, "failed", failure=_missing('text "Order 4711"'))
    story.run("t", build, "failed", failure=_missing('text "Order 4712"'))
    (group,) = story.tables.cells.get(("app-1", "t", build.id)).groups  # type: ignore[union-attr]
    assert (group.count, group.reason, group.step_index) == (2, 'text "Pay" was not found', 3)
    assert group.sample_message.endswith('On the screen: text "Order 4712".')


async def test_a_failure_without_a_reason_is_grouped_by_its_message(story: Story) -> None:
    story.app()
    build = story.build("1.0")
    for waited in ("30 s", "12.5 s"):
        story.run("t", build, "failed", failure=Failure("step_timeout", f"not idle after {waited}"))
    (group,) = story.tables.cells.get(("app-1", "t", build.id)).groups  # type: ignore[union-attr]
    assert (group.count, group.reason) == (2, "not idle after <time>")


async def test_a_failure_without_a_message_is_grouped_by_its_category(story: Story) -> None:
    story.app()
    build = story.build("1.0")
    story.run("t", build, "infra", failure=Failure("session_lost", ""))
    (group,) = story.tables.cells.get(("app-1", "t", build.id)).groups  # type: ignore[union-attr]
    assert (group.count, group.reason) == (1, "session_lost")
