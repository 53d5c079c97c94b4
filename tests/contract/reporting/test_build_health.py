"""Build health: the newest builds, what ran on them, and how far the attached tests cover them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from services.reporting.model.reports.apps import BuildHealth
from tests.contract.reporting.store import MongoStore, StoredCiStory, StoredStory
from tests.fakes.reporting_story import APP, NOW


async def health_of(story: StoredStory) -> Sequence[BuildHealth]:
    return (await story.apps.workspace(APP, 7)).build_health


@pytest.fixture
def story(story: StoredStory) -> StoredStory:
    story.app()
    return story


async def test_builds_come_newest_first_with_zeros(story: StoredStory) -> None:
    story.build("1.0")
    story.build("1.1")
    story.build("0.9", at=NOW - timedelta(days=400))
    health = await health_of(story)
    assert [item.build.version for item in health] == ["1.1", "1.0", "0.9"]
    newest = health[0]
    assert (newest.exact_runs, newest.observed_tests, newest.coverage_rate, newest.pass_rate) == (0, 0, 0.0, None)


async def test_at_most_50_builds_are_shown(story: StoredStory) -> None:
    for number in range(51):
        story.build(f"1.{number}")
    health = await health_of(story)
    assert (len(health), health[0].build.version, health[-1].build.version) == (50, "1.50", "1.1")


async def test_the_health_of_one_build_is_that_among_all_however_old_it_is(story: StoredStory) -> None:
    story.attach("t")
    build = story.build("1.0")
    story.run("t", build, "failed")
    (among_all,) = await health_of(story)
    for number in range(50):
        story.build(f"2.{number}")
    assert (await story.apps.workspace(APP, 7, build_id=build.id)).build_health == [
        replace(among_all, coverage_rate=0.0)
    ]
    assert (await story.apps.workspace(APP, 7, build_id="of-another-app")).build_health == []


async def test_runs_are_counted_by_how_they_ended(story: StoredStory) -> None:
    build = story.build("1.0")
    for ending in ("passed", "passed", "failed", "infra", "cancelled", "running", "queued"):
        story.run("t", build, ending)
    (health,) = await health_of(story)
    assert (health.exact_runs, health.completed_runs) == (7, 3)
    assert (health.passed_runs, health.failed_runs, health.infra_failed_runs) == (2, 1, 1)
    assert health.pass_rate == 2 / 3


async def test_observed_are_attached_tests_by_their_newest_verdict(story: StoredStory) -> None:
    build = story.build("1.0")
    for test in ("good", "bad", "mended", "untried", "let-down"):
        story.attach(test)
    story.run("good", build, "passed", at=NOW - timedelta(hours=3))
    story.run("good", build, "cancelled", at=NOW - timedelta(hours=2))
    story.run("bad", build, "failed")
    story.run("mended", build, "passed", at=NOW - timedelta(hours=1))
    story.run("mended", build, "failed", at=NOW - timedelta(hours=2))
    story.run("let-down", build, "infra")
    story.run("stranger", build, "passed")
    (health,) = await health_of(story)
    assert (health.observed_tests, health.passed_tests, health.failed_tests) == (3, 2, 1)
    assert health.coverage_rate == 3 / 5


async def test_coverage_counts_the_tests_that_target_the_build(story: StoredStory) -> None:
    """Tests that follow the app target its current build; a pinned one targets its pin."""
    old, current, new = story.build("1.0"), story.build("1.1"), story.build("1.2")
    story.app(current="1.1")
    for test in ("t1", "t2"):
        story.attach(test)
    story.attach("t3", pin="1.0")
    for build in (old, current, new):
        story.run("t1", build)
    rates = {item.build.version: item.coverage_rate for item in await health_of(story)}
    assert rates == {"1.2": 0.0, "1.1": 0.5, "1.0": 1.0}


async def test_coverage_never_exceeds_1(story: StoredStory) -> None:
    old = story.build("1.0")
    story.build("1.1")
    story.attach("pinned", pin="1.0")
    for test in ("t1", "t2", "pinned"):
        story.attach(test, pin="1.0" if test == "pinned" else None)
        story.run(test, old)
    assert (await health_of(story))[1].coverage_rate == 1.0


async def test_detached_and_deleted_tests_are_not_observed(story: StoredStory) -> None:
    build = story.build("1.0")
    for test in ("detached", "deleted", "kept"):
        story.attach(test)
        story.run(test, build)
    story.attach("detached", attached=False)
    story.test("deleted", "Gone", deleted=True)
    (health,) = await health_of(story)
    assert (health.observed_tests, health.coverage_rate) == (1, 1.0)


async def test_deleted_builds_are_not_shown(story: StoredStory) -> None:
    story.build("1.0")
    story.build("1.0", deleted=True)
    assert await health_of(story) == []


async def test_builds_have_the_branch_and_commit_that_ci_named(store: MongoStore) -> None:
    story = StoredCiStory(store)
    story.app()
    story.build("0")
    build = story.on("feature/pay", "1", pay="passed")
    story.ci(build, pay="failed")
    sources = [(item.build.version, item.branch, item.commit_sha) for item in await health_of(story)]
    assert sources == [("1", "feature/pay", "c1"), ("0", None, None)]
