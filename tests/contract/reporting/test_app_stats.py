"""Stats and trend: runs by their final attempt, on the UTC day they ended."""

from datetime import UTC, datetime, timedelta

import pytest

from services.chassis.errors import NotFound
from tests.contract.reporting.store import MongoStore, StoredStory
from tests.fakes.chassis import FakeClock
from tests.fakes.reporting_story import APP, NOW


async def stats_of(story: StoredStory) -> tuple[int, float | None, bool]:
    (stats,) = await story.apps.stats([APP])
    return stats.recent_executions, stats.rolling_pass_rate, stats.attribution_ready


@pytest.mark.parametrize(
    ("endings", "stats"),
    [
        ("", (0, None, False)),
        ("passed failed infra infra cancelled running queued", (5, 0.5, True)),
        ("infra cancelled", (2, None, True)),
    ],
)
async def test_the_rate_is_the_share_of_verdicts_that_passed(
    story: StoredStory, endings: str, stats: tuple[int, float | None, bool]
) -> None:
    build = story.build("1")
    for ending in endings.split():
        story.run("t", build, ending)
    assert await stats_of(story) == stats


async def test_stats_come_in_the_order_of_the_request(story: StoredStory) -> None:
    build = story.build("1")
    story.run("t", build, app="b")
    stats = await story.apps.stats(["a", "b", "a"])
    assert [(item.app_id, item.recent_executions) for item in stats] == [("a", 0), ("b", 1), ("a", 0)]


async def test_an_execution_counts_once_however_many_runs_it_has(story: StoredStory) -> None:
    build = story.build("1")
    for test in ("t1", "t2", "t3"):
        story.run(test, build, execution="one")
    story.run("t1", build, execution="two")
    assert (await stats_of(story))[0] == 2


async def test_stats_cover_the_14_utc_days_that_end_today(story: StoredStory) -> None:
    build = story.build("1")
    first = datetime(2026, 11, 7, tzinfo=UTC)
    story.run("t", build, "failed", at=first - timedelta(milliseconds=1))
    assert await stats_of(story) == (0, None, True)
    story.run("t", build, "passed", at=first)
    assert await stats_of(story) == (1, 1.0, True)


async def test_recent_runs_are_the_sum_of_the_trend_of_14_days(story: StoredStory) -> None:
    story.app()
    build = story.build("1")
    for at in (datetime(2026, 11, 6, 23, 59, tzinfo=UTC), datetime(2026, 11, 7, tzinfo=UTC), NOW):
        for ending in ("passed", "failed", "infra", "cancelled", "running"):
            story.run("t", build, ending, at=at, execution="one")
    workspace = await story.apps.workspace(APP, 14)
    assert workspace.stats.recent_runs == sum(point.executions for point in workspace.trend) == 8
    assert workspace.stats.recent_executions == 1


async def test_attribution_needs_a_finished_run_with_a_build(story: StoredStory) -> None:
    build = story.build("1")
    story.run("t", build, "running")
    story.run("t", None, "infra")
    assert not (await stats_of(story))[2]
    story.run("t", build, "cancelled", at=NOW - timedelta(days=300))
    assert (await stats_of(story))[2]


async def test_an_execution_over_midnight_counts_on_the_later_day(story: StoredStory) -> None:
    build = story.build("1")
    late, early = datetime(2026, 11, 7, 0, 1, tzinfo=UTC), datetime(2026, 11, 6, 23, 59, tzinfo=UTC)
    for at in (early, late, early):
        story.run("t", build, at=at, execution="one")
    assert (await stats_of(story))[0] == 1


@pytest.mark.parametrize("days", [7, 14, 60])
async def test_the_trend_has_one_point_a_day_oldest_first(story: StoredStory, days: int) -> None:
    story.app()
    trend = (await story.apps.workspace(APP, days)).trend
    today = NOW.date()
    assert [point.day for point in trend] == [today - timedelta(days=back) for back in reversed(range(days))]
    assert all((point.executions, point.passed, point.failed) == (0, 0, 0) for point in trend)


async def test_a_run_counts_on_the_day_it_ended(story: StoredStory) -> None:
    story.app()
    build = story.build("1")
    for ending in ("passed", "failed", "infra", "cancelled", "running"):
        story.run("t", build, ending, at=datetime(2026, 11, 18, 0, 0, 30, tzinfo=UTC))
    trend = {point.day.isoformat(): point for point in (await story.apps.workspace(APP, 7)).trend}
    point = trend["2026-11-18"]
    assert (point.executions, point.passed, point.failed, point.infra_failed) == (4, 1, 1, 1)
    assert trend["2026-11-17"].executions == 0


async def test_the_window_moves_with_the_clock_and_not_with_the_fold(store: MongoStore) -> None:
    later = StoredStory(store, FakeClock(NOW + timedelta(days=20)))
    later.run("t", later.build("1"))
    assert await stats_of(later) == (0, None, True)


async def test_an_unknown_app_is_not_found(story: StoredStory) -> None:
    with pytest.raises(NotFound, match=r"^App not found$"):
        await story.apps.workspace(APP, 7)


async def test_a_known_revision_gives_an_empty_report_while_the_app_is_unknown(story: StoredStory) -> None:
    workspace = await story.apps.workspace(APP, 7, min_revision=3)
    assert (len(workspace.trend), workspace.build_health) == (7, [])


async def test_a_deleted_app_stays_readable(story: StoredStory) -> None:
    story.run("t", story.build("1"))
    story.app()
    story.app(deleted=True)
    assert (await story.apps.workspace(APP, 7)).stats.recent_executions == 1
