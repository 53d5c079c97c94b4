"""Coverage: one item for each attached test, on its target build only."""

from datetime import timedelta

import pytest

from services.reporting.model.attempts import BuildRef
from services.reporting.model.reports.coverage import CoverageItem
from tests.contract.reporting.store import StoredStory
from tests.fakes.reporting_story import APP, NOW


@pytest.fixture
def story(story: StoredStory) -> StoredStory:
    story.app()
    return story


async def item_of(story: StoredStory, test: str = "t") -> CoverageItem:
    return next(item for item in (await story.apps.coverage(APP)).items if item.test_id == test)


async def test_items_are_attached_tests_by_name(story: StoredStory) -> None:
    for test, name in (("t1", "beta"), ("t2", "Alpha"), ("t3", "gamma"), ("t4", "delta")):
        story.attach(test)
        story.test(test, name)
    story.attach("t3", attached=False)
    story.test("t4", "delta", deleted=True)
    story.run("stranger", story.build("1.0"))
    assert [item.test_name for item in (await story.apps.coverage(APP)).items] == ["Alpha", "beta"]


async def test_an_app_without_builds_has_no_target(story: StoredStory) -> None:
    story.attach("t")
    coverage = await story.apps.coverage(APP)
    assert (coverage.current, coverage.newest) == (None, None)
    assert (coverage.items[0].target_version, coverage.items[0].state.status) == (None, "not_run")


@pytest.mark.parametrize(
    ("pin", "current", "target"),
    [
        (None, None, "1.2"),
        (None, "1.1", "1.1"),
        (None, "9.9", "1.2"),
        ("1.0", "1.1", "1.0"),
        ("9.9", "1.1", "9.9"),
    ],
)
async def test_the_target_is_the_pin_else_the_current_else_the_newest(
    story: StoredStory, pin: str | None, current: str | None, target: str
) -> None:
    for version in ("1.0", "1.1", "1.2"):
        story.build(version)
    story.app(current=current)
    story.attach("t", pin=pin)
    assert (await item_of(story)).target_version == target


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("passed", "passed"),
        ("failed", "failed"),
        ("infra", "no_verdict"),
        ("cancelled", "cancelled"),
        ("running", "running"),
        ("queued", "queued"),
    ],
)
async def test_last_status(story: StoredStory, ending: str, status: str) -> None:
    story.attach("t")
    run = story.run("t", story.build("1.0"), ending, at=NOW)
    standing = (await item_of(story)).state
    assert (standing.status, standing.at, standing.execution_id) == (status, NOW, run.execution_id)
    assert standing.seconds == (None if ending in ("running", "queued") else 60.0)


async def test_the_newest_finished_run_counts(story: StoredStory) -> None:
    story.attach("t")
    build = story.build("1.0")
    story.run("t", build, "failed", at=NOW)
    story.run("t", build, "passed", at=NOW - timedelta(hours=1))
    assert (await item_of(story)).state.status == "failed"


async def test_an_active_run_takes_precedence_until_it_ends(story: StoredStory) -> None:
    story.attach("t")
    build = story.build("1.0")
    story.run("t", build, "failed", at=NOW)
    story.run("t", build, "queued", at=NOW, run_id="again")
    story.run("t", build, "running", at=NOW, run_id="other")
    assert (await item_of(story)).state.status == "running"
    story.run("t", build, "passed", at=NOW, run_id="other")
    assert (await item_of(story)).state.status == "queued"
    story.run("t", build, "passed", at=NOW + timedelta(hours=1), run_id="again")
    assert (await item_of(story)).state.status == "passed"


async def test_a_run_on_another_build_leaves_the_target_not_run_but_observed(story: StoredStory) -> None:
    story.attach("t")
    old, newer = story.build("1.0"), story.build("1.1")
    story.build("1.2")
    story.run("t", newer, "failed", at=NOW - timedelta(days=2))
    story.run("t", old, "passed", at=NOW)
    item = await item_of(story)
    assert (item.state.status, item.state.at, item.state.execution_id) == ("not_run", None, None)
    assert item.observed is not None
    assert (item.observed.id, item.observed.version) == (newer.id, "1.1")


async def test_only_a_verdict_observes(story: StoredStory) -> None:
    story.attach("t")
    build = story.build("1.0")
    for ending in ("infra", "cancelled", "running"):
        story.run("t", build, ending)
    assert (await item_of(story)).observed is None


async def test_a_renamed_build_is_shown_with_its_current_version(story: StoredStory) -> None:
    story.attach("t")
    build = story.build("1.0")
    story.run("t", build)
    story.rename(build, "2.0")
    item = await item_of(story)
    assert (item.target_version, item.state.status) == ("2.0", "passed")
    assert item.observed is not None
    assert item.observed.version == "2.0"


async def test_a_run_counts_even_if_it_is_known_before_its_app_build_and_test(story: StoredStory) -> None:
    story.run("t", BuildRef(NOW, "build-1.0", "1.0"), "failed", at=NOW, run_id="r", execution="e")
    await story.fold()
    story.attach("t")
    story.build("1.0", at=NOW)
    story.app(current="1.0")
    item = await item_of(story)
    assert (item.target_version, item.state.status, item.state.execution_id) == ("1.0", "failed", "e")
