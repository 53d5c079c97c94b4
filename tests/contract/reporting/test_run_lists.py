"""Lists of runs: newest first, every state, and pages that are found through counters."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mobiletest.reporting.v1 import reports_pb2

from services.chassis.errors import InvalidArgument
from services.reporting.model.batch import Snapshot
from services.reporting.model.snapshots import RunResult
from services.reporting.model.tables import Tables
from services.reporting.ports import RowPage
from services.reporting.storage.documents import RUNS
from services.reporting.storage.read_models import MongoReadModels
from services.reporting.storage.result_migration import name_results
from services.reporting.usecases.apps import AppReports
from services.reporting.usecases.report_sources import ReportSources
from services.reporting.usecases.run_lists import RunLists, RunsPage
from tests.contract.reporting.store import MongoStore, StoredStory, expire
from tests.contract.reporting.test_read_models import EXAMPLES
from tests.fakes.chassis import FakeClock
from tests.fakes.reporting_recount import recount
from tests.fakes.reporting_story import NOW
from tests.fakes.reporting_strategies import APPS, BUILDS, TESTS, build_number, snapshot_lists


async def test_runs_of_a_build_come_newest_first_in_every_state(story: StoredStory) -> None:
    build, other = story.build("1.0"), story.build("1.1")
    items = [
        story.run("t", build, ending, at=NOW - timedelta(hours=hour)).list_item
        for hour, ending in enumerate(("queued", "running", "passed", "failed", "infra", "cancelled"))
    ]
    story.run("t", other)
    page = await story.runs.of_build(build.id, RowPage(0, 4))
    assert (page.items, page.total) == (items[:4], 6)
    assert (await story.runs.of_build(build.id, RowPage(4, 4))).items == items[4:]


async def test_runs_of_a_test_are_those_of_all_apps_and_builds(story: StoredStory) -> None:
    build = story.build("1.0")
    story.run("t", build)
    story.run("t", build, app="another")
    story.run("t", None, "infra", app=None)
    story.run("other", build)
    page = await story.runs.of_test("t", RowPage(0, 10))
    assert (page.total, len(page.items)) == (3, 3)


async def test_a_run_is_listed_as_its_newest_event_describes_it(story: StoredStory) -> None:
    build = story.build("1.0")
    story.run("t", build, "queued", run_id="r")
    last = story.run("t", build, "passed", run_id="r")
    page = await story.runs.of_build(build.id, RowPage(0, 10))
    assert (page.items, page.total) == ([last.list_item], 1)


async def test_a_page_of_runs_beyond_the_memory_limit_is_refused(story: StoredStory) -> None:
    """Each run has as much as an event may hold."""
    build = story.build("1.0")
    runs = [story.run("t", build, run_id=f"run-{number}") for number in range(9)]
    await story.fold()
    await story.store.mongo.collection(RUNS.collection).update_many({}, {"$set": {"list_item": bytes(4 * 1024**2)}})
    with pytest.raises(InvalidArgument, match="ask for less at once"):
        await story.runs.of_build(build.id, RowPage(0, len(runs)))
    assert len((await story.runs.of_build(build.id, RowPage(0, 3))).items) == 3


async def test_lists_and_totals_exclude_expired_runs(story: StoredStory) -> None:
    build = story.build("1.0")
    runs = [story.run("t", build, at=NOW - timedelta(days=day), run_id=f"run-{day}") for day in range(6)]
    await story.fold()
    gone = [await expire(story.store.projections, ids) for ids in (["run-5", "run-3", "run-4", "unknown"], ["run-5"])]
    assert gone == [3, 0]
    page = await story.runs.of_build(build.id, RowPage(0, 2))
    assert (page.items, page.total) == ([runs[0].list_item, runs[1].list_item], 3)
    assert (await story.runs.of_test("t", RowPage(2, 2))).items == [runs[2].list_item]
    assert (await story.runs.of_build(build.id, RowPage(3, 2))).items == []


async def test_runs_of_a_build_and_of_a_test_are_filtered_by_result(story: StoredStory) -> None:
    """A flaky run has passed, too, and a run that has not ended has no result."""
    build, other = story.build("1.0"), story.build("1.1")
    passed, failed, flaked, late, infra, cancelled = (
        story.run("t", build, ending, at=NOW - timedelta(hours=hour), flaky=hour in (2, 3)).list_item
        for hour, ending in enumerate(("passed", "failed", "passed", "failed", "infra", "cancelled"))
    )
    for ending in ("queued", "running"):
        story.run("t", build, ending)
    elsewhere = story.run("t", other, "failed", at=NOW - timedelta(days=1)).list_item
    story.run("another", other, "failed")
    expected = {
        RunResult.PASSED: [passed, flaked],
        RunResult.FAILED: [failed, late],
        RunResult.NO_VERDICT: [infra],
        RunResult.FLAKY: [flaked],
        RunResult.CANCELLED: [cancelled],
    }
    for result, items in expected.items():
        assert await story.runs.of_build(build.id, RowPage(0, 10), result) == RunsPage(items, len(items))
    assert await story.runs.of_test("t", RowPage(0, 10), RunResult.FAILED) == RunsPage([failed, late, elsewhere], 3)
    assert await story.runs.of_test("t", RowPage(2, 2), RunResult.FAILED) == RunsPage([elsewhere], 3)
    assert await story.runs.of_build(build.id, RowPage(4, 2), RunResult.FAILED) == RunsPage([], 2)


async def test_a_run_is_found_by_the_result_that_its_newest_event_says(story: StoredStory) -> None:
    build = story.build("1.0")
    story.run("t", build, "failed", run_id="r")
    await story.fold()
    assert (await story.runs.of_build(build.id, RowPage(0, 9), RunResult.FAILED)).total == 1
    corrected = story.run("t", build, "passed", run_id="r").list_item
    assert await story.runs.of_build(build.id, RowPage(0, 9), RunResult.PASSED) == RunsPage([corrected], 1)
    assert await story.runs.of_build(build.id, RowPage(0, 9), RunResult.FAILED) == RunsPage([], 0)


async def test_an_expired_run_is_found_by_no_result_even_after_a_later_event(story: StoredStory) -> None:
    build = story.build("1.0")
    story.run("t", build, "failed", run_id="r")
    await story.fold()
    await expire(story.store.projections, ["r"])
    story.run("t", build, "failed", run_id="r")
    assert await story.runs.of_test("t", RowPage(0, 9), RunResult.FAILED) == RunsPage([], 0)


async def test_the_migration_names_the_results_that_lists_show(story: StoredStory) -> None:
    """What cannot be read, is not in lists or has not ended stays without one."""
    build = story.build("1.0")
    endings = ("passed", "failed", "passed", "infra", "cancelled", "failed", "failed", "running")
    for number, ending in enumerate(endings):
        story.run("t", build, ending, run_id=f"run-{number}", flaky=number == 2)
    await story.fold()
    await expire(story.store.projections, ["run-6"])
    collection = story.store.mongo.collection(RUNS.collection)
    for number, ending in enumerate(endings):
        item = reports_pb2.BuildRunItem(success=ending == "passed")
        item.report_metadata["flaky"] = number == 2
        content = b"\xff" if number == 5 else item.SerializeToString()
        old = {"_id": f"run-{number}", "list_item": {"$exists": True}}
        await collection.update_one(old, {"$set": {"list_item": content}, "$unset": {"result": ""}})
    await name_results(story.store.mongo, 0)
    runs = await collection.find().sort("_id", 1).to_list()
    named = ["passed", "failed", "flaky", "no_verdict", "cancelled", None, None, None]
    assert [run.get("result") for run in runs] == named


async def test_a_page_far_past_the_end_is_empty(story: StoredStory) -> None:
    story.run("t", story.build("1.0"))
    assert (await story.runs.of_test("t", RowPage(10**12, 500))).items == []


@EXAMPLES
@given(told=snapshot_lists(), size=st.integers(1, 4))
async def test_pages_concatenate_to_the_whole_list(store: MongoStore, told: list[Snapshot], size: int) -> None:
    await store.clear()
    await store.fold(told)
    tables, lists = recount(told), RunLists(store.read_models)
    builds = [build_number(app, build).id for app in range(APPS) for build in range(BUILDS)]
    tests = [f"test-{number}" for number in range(TESTS)]
    for names, field, lookup in ((builds, "build_id", lists.of_build), (tests, "test_id", lists.of_test)):
        for name in names:
            expected = newest_runs(tables, field, name)
            pages = [await lookup(name, RowPage(skip, size)) for skip in range(0, len(expected) + size, size)]
            assert [item for page in pages for item in page.items] == expected
            assert {page.total for page in pages} == {len(expected)}
            flaky = await lookup(name, RowPage(0, 100), RunResult.FLAKY)
            assert flaky.items == newest_runs(tables, field, name, RunResult.FLAKY)


def newest_runs(tables: Tables, field: str, name: str, result: RunResult | None = None) -> list[bytes]:
    rows = [(key, row) for key, row in tables.runs.rows() if getattr(row, field) == name]
    runs = [(row.listed_at, key, row.list_item) for key, row in rows if result in (None, row.result)]
    return [item for *_, item in sorted(runs, reverse=True)]


@EXAMPLES
@given(told=snapshot_lists(max_executions=0), size=st.integers(2, 3))
async def test_matrix_pages_cover_all_builds(store: MongoStore, told: list[Snapshot], size: int) -> None:
    await store.clear()
    await store.fold(told)
    reports = AppReports(
        ReportSources(store.read_models, store.tests, store.verdicts, store.failures, FakeClock(NOW), revision_wait=0)
    )
    tables = recount(told)
    for app in (f"app-{number}" for number in range(APPS)):
        builds = [build for _, build in tables.builds.rows() if build.app_id == app and not build.deleted]
        pages = [await reports.matrix(app, RowPage(skip, size), 0) for skip in range(0, 2 * BUILDS, size)]
        expected = sorted(builds, key=lambda build: build.uploaded_at, reverse=True)
        assert [build for page in pages for build in page.builds] == expected
        assert {page.total_builds for page in pages} == {len(expected)}


@pytest.mark.parametrize("lost", ["counted", "listed"])
async def test_a_page_stays_valid_when_runs_come_or_go_meanwhile(story: StoredStory, lost: str) -> None:
    """Counters and runs are read one after the other: the counts may be of fewer or of more runs."""
    build, counters = story.build("1.0"), story.store.mongo.collection("counters")
    for number in range(9):
        story.run("t", build, at=NOW - timedelta(hours=9 * number), run_id=f"run-{number}")
    await story.fold()
    counted = await counters.find().to_list(None)
    for number in range(9, 14):
        story.run("t", build, at=NOW - timedelta(hours=9 * number - 30), run_id=f"run-{number:02}")
    await story.fold()
    if lost == "counted":
        await counters.delete_many({})
        await counters.insert_many(counted)
    else:
        await story.store.mongo.collection("runs").delete_many({"_id": {"$gte": "run-12"}})
    pages = [await story.runs.of_build(build.id, RowPage(skip, 3)) for skip in range(16)]
    assert all(len(page.items) <= 3 for page in pages)


async def test_a_deep_page_skips_only_inside_of_a_minute(story: StoredStory) -> None:
    for number in range(60):
        story.run("t", None, at=NOW - timedelta(minutes=10 * number), app=None)
    await story.fold()
    skipped = []

    class Watched(MongoReadModels):
        async def runs_of_test(self, test_id: str, page: RowPage) -> list[bytes]:
            skipped.append(page.skip)
            return list(await super().runs_of_test(test_id, page))

    page = await RunLists(Watched(story.store.mongo)).of_test("t", RowPage(50, 5))
    assert (len(page.items), page.total, skipped) == (5, 60, [0])
