"""Lists of runs: newest first, every state, counted without counting."""

from datetime import timedelta

from services.reporting.ports import Page
from tests.fakes.reporting_story import NOW, Story


async def test_runs_of_a_build_come_newest_first_in_every_state(story: Story) -> None:
    build, other = story.build("1.0"), story.build("1.1")
    items = [
        story.run("t", build, ending, at=NOW - timedelta(hours=hour)).list_item
        for hour, ending in enumerate(("queued", "running", "passed", "failed", "infra", "cancelled"))
    ]
    story.run("t", other)
    page = await story.runs.of_build(build.id, Page(0, 4))
    assert (page.items, page.total) == (items[:4], 6)
    assert (await story.runs.of_build(build.id, Page(4, 4))).items == items[4:]
    assert (await story.runs.of_build(build.id, Page(8, 4))).items == []


async def test_runs_of_a_test_are_those_of_all_apps_and_builds(story: Story) -> None:
    build = story.build("1.0")
    story.run("t", build)
    story.run("t", build, app="another")
    story.run("t", None, "infra", app=None)
    story.run("other", build)
    assert (await story.runs.of_test("t", Page(0, 10))).total == 3
    assert len((await story.runs.of_test("t", Page(0, 10))).items) == 3


async def test_an_unknown_build_or_test_has_none(story: Story) -> None:
    assert (await story.runs.of_build("no-build", Page(0, 10))).total == 0
    assert (await story.runs.of_test("no-test", Page(0, 10))).items == []


async def test_a_run_is_listed_as_its_newest_event_describes_it(story: Story) -> None:
    build = story.build("1.0")
    story.run("t", build, "queued", run_id="r")
    last = story.run("t", build, "passed", run_id="r")
    page = await story.runs.of_build(build.id, Page(0, 10))
    assert (page.items, page.total) == ([last.list_item], 1)
