"""The test matrix: builds across, tests down, a cell where a run finished."""

from dataclasses import replace
from datetime import timedelta

import pytest
from mobiletest.reporting.v1 import reports_pb2

from services.reporting.messages import matrix_message
from services.reporting.model.reports.matrix import Matrix, MatrixRow
from services.reporting.model.snapshots import Failure
from services.reporting.ports import RowPage
from tests.contract.reporting.store import StoredStory
from tests.fakes.reporting_story import APP, NOW


@pytest.fixture
def story(story: StoredStory) -> StoredStory:
    story.app()
    return story


async def matrix_of(story: StoredStory, page: RowPage = RowPage(0, 10)) -> Matrix:  # noqa: B008 (a value)
    return await story.apps.matrix(APP, page)


async def row_of(story: StoredStory, test: str = "t") -> MatrixRow:
    return next(row for row in (await matrix_of(story)).rows if row.test_id == test)


async def test_pages_list_builds_newest_first_and_those_of_one_moment_by_id(story: StoredStory) -> None:
    for number in range(5):
        story.build(f"1.{number}", at=NOW - timedelta(days=number // 2))
    pages = [await matrix_of(story, RowPage(skip, 2)) for skip in (0, 2, 4)]
    assert [[build.version for build in page.builds] for page in pages] == [["1.1", "1.0"], ["1.3", "1.2"], ["1.4"]]
    assert {page.total_builds for page in pages} == {5}


async def test_rows_are_attached_tests_and_tests_with_a_run_on_the_page(story: StoredStory) -> None:
    first, second = story.build("1.0"), story.build("1.1")
    story.attach("attached")
    story.test("attached", "beta")
    story.run("seen", second)
    story.test("seen", "Alpha")
    story.run("elsewhere", first)
    matrix = await matrix_of(story, RowPage(0, 1))
    assert [(row.test_id, row.test_name) for row in matrix.rows] == [("seen", "Alpha"), ("attached", "beta")]


async def test_a_name_comes_from_the_catalog_else_the_attachment_else_the_newest_run(story: StoredStory) -> None:
    build = story.build("1.0")
    for test in ("t1", "t2", "t3"):
        story.run(test, build)
    story.attach("t2")
    story.attach("t3")
    story.test("t3", "Renamed")
    names = {row.test_id: row.test_name for row in (await matrix_of(story)).rows}
    assert names == {"t1": "Old name of t1", "t2": "Name of t2", "t3": "Renamed"}


async def test_a_cell_needs_a_finished_run(story: StoredStory) -> None:
    first, second = story.build("1.0"), story.build("1.1")
    story.run("t", first)
    story.run("t", second, "running")
    assert [shown.build.version for shown in (await row_of(story)).cells] == ["1.0"]


async def test_a_cell_counts_finished_runs(story: StoredStory) -> None:
    build = story.build("1.0")
    for ending in ("passed", "failed", "infra", "cancelled", "queued"):
        story.run("t", build, ending, version=4 if ending == "failed" else 2)
    newest = story.run("t", build, "passed", at=NOW)
    cell = (await row_of(story)).cells[0].variants[0].cell
    assert (cell.passed, cell.failed, cell.infra_failed, cell.cancelled) == (2, 1, 1, 1)
    assert cell.last_run is not None
    assert (cell.last_run.ended_at, cell.last_run.execution_id, cell.test_version) == (NOW, newest.execution_id, 4)


async def test_cells_are_in_the_order_of_the_builds(story: StoredStory) -> None:
    builds = [story.build(version) for version in ("1.0", "1.1", "1.2")]
    for build in builds:
        story.run("t", build)
    assert [shown.build.version for shown in (await row_of(story)).cells] == ["1.2", "1.1", "1.0"]


async def test_the_most_frequent_failure_wins_then_the_newest(story: StoredStory) -> None:
    build = story.build("1.0")
    failures = ["once, long ago", "twice", "twice", "once, lately"]
    for hour, message in enumerate(failures):
        failure = Failure("assertion_failed", message, "assertVisible", hour, position=("main.yaml", 1 + hour, 3))
        story.run("t", build, "failed", at=NOW - timedelta(hours=9 - hour), failure=failure)
    groups = (await row_of(story)).cells[0].variants[0].cell.groups
    assert [(group.reason, group.count) for group in groups] == [
        ("twice", 2),
        ("once, lately", 1),
        ("once, long ago", 1),
    ]
    assert (groups[0].first_seen_at, groups[0].last_seen_at) == (NOW - timedelta(hours=8), NOW - timedelta(hours=7))
    assert (groups[0].step_index, groups[0].sample_message, groups[0].category) == (2, "twice", "assertion_failed")
    assert groups[0].position == ("main.yaml", 3, 3)


async def test_exactly_the_five_largest_groups_are_shown(story: StoredStory) -> None:
    build = story.build("1.0")
    for hour, letter in enumerate("abcdefgabcdefgg" * 2):
        failure = Failure("app_crash", f"failure {letter}", "tapOn", 0)
        story.run("t", build, "failed", at=NOW + timedelta(hours=hour), failure=failure)
    groups = (await row_of(story)).cells[0].variants[0].cell.groups
    assert [group.reason[-1] for group in groups] == ["g", "f", "e", "d", "c"]
    assert [group.count for group in groups] == [6, 4, 4, 4, 4]


async def test_a_run_without_a_verdict_has_its_failure_in_the_groups(story: StoredStory) -> None:
    story.run("t", story.build("1.0"), "infra", failure=Failure("device_unavailable", "no device"))
    (group,) = (await row_of(story)).cells[0].variants[0].cell.groups
    assert (group.category, group.reason, group.step_index) == ("device_unavailable", "no device", None)


async def test_score_class_and_sentence_use_the_whole_history_and_current_versions(story: StoredStory) -> None:
    old = story.build("1.0")
    for ending in ("passed", "passed", "passed"):
        story.run("t", old, ending)
    new = story.build("1.1")
    story.run("t", new, "failed", at=NOW)
    story.rename(new, "2.0")
    row = await row_of(story)
    assert (row.flaky_score, row.classification) == (0.0, "regressed")
    assert row.classification_detail == "Build 2.0 broke a run of 3 passes: failed once since 2026-11-20 11:59 UTC."


async def test_an_attached_test_that_never_ran_has_a_row(story: StoredStory) -> None:
    story.attach("t")
    row = await row_of(story)
    assert (row.cells, row.classification, row.flaky_score) == ([], "insufficient_data", 0.0)
    assert row.classification_detail == "0 attempts with a verdict so far, of the 3 needed."


async def test_a_deleted_test_keeps_its_row_where_it_was_seen(story: StoredStory) -> None:
    story.run("t", story.build("1.0"))
    story.test("t", "Gone", deleted=True)
    assert (await row_of(story)).test_name == "Gone"


async def test_attempts_of_a_storm_are_left_out_once_it_is_settled(story: StoredStory) -> None:
    """Five tests fail alike in one execution on a build that they passed on: a storm, not five flaky tests."""
    build = story.build("1.0")
    tests = [f"t{number}" for number in range(5)]
    for test in tests:
        for _ in range(3):
            story.run(test, build)
        story.run(test, build, "failed", at=NOW, execution="storm")
    assert (await row_of(story, "t0")).classification == "flaky"
    story.execution("storm", 5)
    row = await row_of(story, "t0")
    assert (row.flaky_score, row.classification) == (0.0, "stable")
    assert row.classification_detail == (
        "Passed 3 of 3 attempts over 1 build; 1 attempt of an infrastructure storm left out."
    )


async def test_messages_show_what_changed_since_the_last_one(story: StoredStory) -> None:
    """Messages of cells are kept: more runs, and a new version of the build, must not show old ones."""
    build = story.build("1.0")
    story.run("t", build)
    first = await cell_message(story)
    assert (first.build_version, first.total_runs) == ("1.0", 1)
    assert await cell_message(story) == first
    matrix = await matrix_of(story)
    renamed = [replace(shown, version="2.0") for shown in matrix.builds]
    cells = [replace(shown, build=renamed[0]) for shown in matrix.rows[0].cells]
    again = await matrix_message(APP, replace(matrix, rows=[replace(matrix.rows[0], cells=cells)]), 1, 10)
    assert again.tests[0].cells[0].build_version == "2.0"
    story.run("t", build)
    assert (await cell_message(story)).total_runs == 2


async def cell_message(story: StoredStory) -> reports_pb2.MatrixCell:
    return (await matrix_message(APP, await matrix_of(story), 1, 10)).tests[0].cells[0]
