"""The health of apps: by the rules of the comparison, and never older than what it is about."""

import pytest

from services.reporting.model.reports.app_health import AppHealth, AppOrder, HealthCounts, HealthResult
from services.reporting.model.sources import BUILDS_KEPT
from services.reporting.ports import RowPage, StoredHealth
from tests.contract.reporting.store import MongoStore, StoredCiStory
from tests.fakes.reporting_story import APP

ALL = RowPage(0, 100)


@pytest.fixture
def story(store: MongoStore) -> StoredCiStory:
    return StoredCiStory(store)


async def health_of(story: StoredCiStory) -> AppHealth:
    (health,) = (await story.healths.list([APP], ALL)).items
    return health


async def test_the_newest_build_with_a_verdict_decides(story: StoredCiStory) -> None:
    assert (await health_of(story)).result is HealthResult.UNKNOWN
    story.main("1", broke="passed", still="failed", fine="passed")
    health = await health_of(story)
    assert (health.result, health.counts.still_failing, health.counts.passing) == (HealthResult.FAILING, 1, 2)
    story.main("2", broke="failed", still="failed", new="failed", fine="passed")
    health = await health_of(story)
    counts = health.counts
    assert (health.result, counts.newly_failing, counts.still_failing, counts.never_passed, counts.passing) == (
        *(HealthResult.BROKEN, 1, 1, 1, 1),
    )
    assert health.build
    assert (health.build.version, health.build.branch, health.build.commit_sha) == ("2", "main", "c2")
    story.main("3", broke="infra")
    health = await health_of(story)
    assert health.build
    assert (health.build.version, health.last_execution_id) == ("2", "ci-0003")
    story.main("4", broke="passed", still="passed", new="passed", fine="passed")
    assert (await health_of(story)).result is HealthResult.PASSING


async def test_a_summary_is_used_until_something_of_the_app_changes(story: StoredCiStory) -> None:
    story.main("1", pay="passed")
    await health_of(story)
    (stored,) = (await story.store.summaries.find([APP])).values()
    await story.store.summaries.save(StoredHealth(stored.version, AppHealth(APP)))
    assert (await health_of(story)).result is HealthResult.UNKNOWN  # as it is stored
    for change in (
        lambda: story.run("other", None, "passed"),
        lambda: story.build("1.1"),
        lambda: story.attach("other"),
        lambda: story.test("gone", "Gone", deleted=True),
    ):
        change()
        assert (await health_of(story)).result is HealthResult.PASSING
        (stored,) = (await story.store.summaries.find([APP])).values()
        await story.store.summaries.save(StoredHealth(stored.version, AppHealth(APP)))


async def test_apps_come_worst_first_and_by_page(story: StoredCiStory) -> None:
    builds = {app: story.build(app) for app in ("a", "b", "c")}
    for app, ending in (("a", "passed"), ("b", "failed"), ("c", "infra")):
        story.ci(builds[app], "main", "c1", app=app, pay=ending)
    page = await story.healths.list(["a", "b", "c", "d"], RowPage(0, 3))
    assert page.items[-1].result is HealthResult.UNKNOWN
    assert page.pending == 0
    by_name, by_run = [
        [each.app_id for each in (await story.healths.list(["b", "d", "a", "c"], ALL, order)).items]
        for order in (AppOrder.NAME, AppOrder.LAST_RUN)
    ]
    assert (by_name, by_run[-1]) == (["b", "d", "a", "c"], "d")


def test_of_an_app_of_which_only_flaky_tests_ran_nothing_is_known() -> None:
    assert AppHealth(APP, counts=HealthCounts(flaky=2)).result is HealthResult.UNKNOWN
    assert AppHealth(APP, counts=HealthCounts(flaky=2, passing=1)).result is HealthResult.PASSING


async def test_a_failure_is_not_forgotten_behind_builds_without_a_verdict(story: StoredCiStory) -> None:
    story.main("1.0", pay="failed")
    for number in range(BUILDS_KEPT):
        story.main(f"1.{number + 1}", pay="infra")
    assert (await health_of(story)).result is HealthResult.FAILING
