"""Verdicts on other builds: lookups and scans find what the definition says, and a few facts about executions."""

from collections.abc import Iterable
from datetime import timedelta
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from services.reporting.model.attempts import Attempt, BuildRef
from services.reporting.model.batch import Snapshot
from services.reporting.model.reports.breakage import (
    ANY,
    FAILED,
    PASSED,
    AttemptQuery,
    Branches,
    BuildVerdict,
    SearchSide,
    VerdictQuery,
)
from services.reporting.model.reports.gate import ExecutionProgress
from services.reporting.model.tables import Cell, CellKey, Tables
from services.reporting.storage.subdocuments import encode_attempts, holds_attempt
from services.reporting.storage.verdicts import STORM_BUILDS_SKIPPED
from tests.contract.reporting.store import MongoStore, StoredCiStory, expire
from tests.examples import examples
from tests.fakes.reporting_attempts import NO_DEADLINE
from tests.fakes.reporting_recount import recount
from tests.fakes.reporting_story import APP, NOW
from tests.fakes.reporting_strategies import APPS, BUILDS, TESTS, build_number, snapshot_lists

EXAMPLES = settings(NO_DEADLINE, max_examples=examples(60))
KEYS = [
    (f"app-{app}", f"test-{test}", build_number(app, build).id)
    for app, test, build in product(range(APPS), range(TESTS), range(BUILDS))
]
ATTEMPT_BRANCHES = st.sampled_from(["main", 'a "quoted" one,true,null,', None])
ATTEMPT_BUILDS = st.builds(BuildRef, st.sampled_from([NOW, NOW + timedelta(1)]), st.sampled_from("abc"), st.text())
ATTEMPTS = st.builds(
    Attempt,
    run_id=st.sampled_from(["r1", 'r,true,"main",']),
    number=st.integers(1, 3),
    execution_id=st.just("e"),
    started_at=st.just(NOW),
    build=ATTEMPT_BUILDS,
    test_version=st.just(1),
    passed=st.booleans(),
    branch=ATTEMPT_BRANCHES,
    storm=st.sampled_from([None, True, False]),
)
BRANCHES: list[Branches] = [("main",), ("feature", "main"), ()]
QUERIES = st.builds(
    VerdictQuery,
    st.sampled_from(SearchSide),
    st.sampled_from([ANY, PASSED, FAILED]),
    st.sampled_from(BRANCHES),
    st.booleans(),
)


def verdict_with_branch(key: CellKey, cell: Cell) -> BuildVerdict | None:
    """The newest verdict of a run of the cell that names its branch; None without one."""
    if (named := cell.named_verdict) is None:
        return None
    return BuildVerdict(key, cell.uploaded_at, named.run, named.source_revision, passed=cell.passed, failed=cell.failed)


@EXAMPLES
@given(told=snapshot_lists(max_executions=14), queries=st.lists(QUERIES, min_size=8, max_size=8))
async def test_lookups_and_scans_find_what_is_defined(
    store: MongoStore, told: list[Snapshot], queries: list[VerdictQuery]
) -> None:
    await store.clear()
    await store.fold(told)
    tables = recount(told)
    known = {key: seen for key, cell in tables.cells.rows() if (seen := verdict_with_branch(key, cell))}
    uploads = {key: cell.uploaded_at for key, cell in tables.cells.rows()}
    assert await store.verdicts.uploads(KEYS) == {key: uploads[key] for key in KEYS if key in uploads}
    for query in queries:
        expected = {key: seen for key in KEYS if (seen := nearest(tables, known.values(), key, query))}
        assert await store.verdicts.find(KEYS, query) == expected
        assert await store.scanned_verdicts.find(KEYS, query) == expected


def nearest(tables: Tables, verdicts: Iterable[BuildVerdict], key: CellKey, query: VerdictQuery) -> BuildVerdict | None:
    """The definition of `VerdictQuery`: the first in the order of the search, storms left out of the nearest few."""
    cell = tables.cells.get(key)
    if cell is None:
        return None
    own, newest = (cell.uploaded_at, key[2]), query.side in (SearchSide.BEFORE, SearchSide.OTHER)
    beside = {
        SearchSide.BEFORE: lambda seen: seen.build_order < own,
        SearchSide.AFTER: lambda seen: seen.build_order > own,
        SearchSide.OTHER: lambda seen: seen.build_id != key[2],
        SearchSide.FIRST: lambda seen: True,
    }[query.side]
    line = [
        seen
        for seen in verdicts
        if seen.key[:2] == key[:2]
        and beside(seen)
        and seen.branch in query.branches
        and seen.verdict.outcome in query.outcomes
    ]
    line.sort(key=lambda seen: seen.build_order, reverse=newest)
    return next((seen for seen in line[: STORM_BUILDS_SKIPPED + 1] if query.storms or not in_storm(tables, seen)), None)


def in_storm(tables: Tables, seen: BuildVerdict) -> bool:
    execution = tables.executions.get(seen.verdict.execution_id)
    return seen.fails and execution is not None and execution.storm is True


async def test_scans_distinguish_builds_uploaded_at_the_same_time(store: MongoStore) -> None:
    """Five builds of one moment, each with a failure or a pass; the searches start from each of them."""
    story = StoredCiStory(store)
    at = NOW - timedelta(days=3)
    for number, ending in enumerate(["passed", "failed", "failed", "passed", "failed"]):
        build = BuildRef(at, f"build-{number}", str(number))
        story.ci(build, "main" if number != 1 else "feature", "c", t=ending)
    await story.fold()
    keys = [(APP, "t", f"build-{number}") for number in range(5)]
    known = {key: seen for key, cell in story.tables.cells.rows() if (seen := verdict_with_branch(key, cell))}
    for side, outcomes, branches in product(SearchSide, (ANY, PASSED, FAILED), [("main",), ("main", "feature")]):
        query = VerdictQuery(side, outcomes, branches, storms=True)
        expected = {key: seen for key in keys if (seen := nearest(story.tables, known.values(), key, query))}
        assert await store.scanned_verdicts.find(keys, query, dict.fromkeys(keys, at)) == expected


async def test_attempts_are_those_of_histories_with_such_an_attempt(store: MongoStore) -> None:
    story = StoredCiStory(store)
    first = story.main("1", pay="passed", search="failed")
    story.main("2", pay="failed", search="passed")
    await story.fold()
    histories = {key: history.attempts for key, history in story.tables.histories.rows()}
    assert await store.verdicts.attempts(histories.keys()) == histories
    later = AttemptQuery("main", (first.uploaded_at, first.id))
    attempts = await store.verdicts.attempts(histories.keys(), {(APP, test): later for test in ("pay", "search")})
    assert attempts.keys() == {(APP, "search")}
    assert await store.verdicts.attempts(histories.keys(), {(APP, "pay"): later}) == {}
    failed = {(APP, "pay"): AttemptQuery("main", (first.uploaded_at, first.id), only_passed=False)}
    assert (await store.verdicts.attempts(histories.keys(), failed)).keys() == {(APP, "pay")}


@given(
    attempts=st.lists(ATTEMPTS, max_size=6),
    branch=ATTEMPT_BRANCHES.filter(lambda branch: branch is not None),
    after=ATTEMPT_BUILDS,
    only_passed=st.booleans(),
)
def test_an_attempt_is_seen_in_encoded_ones(
    attempts: list[Attempt], branch: str, after: BuildRef, only_passed: bool
) -> None:
    sought = AttemptQuery(branch, after.key, only_passed)
    assert holds_attempt(encode_attempts(tuple(attempts)), sought) is any(map(sought.fits, attempts))


async def test_builds_before_a_build_come_newest_first(store: MongoStore) -> None:
    story = StoredCiStory(store)
    story.build("gone", deleted=True)
    for version, age in (("1", 3), ("2", 2), ("3", 2), ("4", 2), ("5", 1)):
        story.build(version, at=NOW - timedelta(days=age))
    await story.fold()
    build = story.tables.builds.get("build-3")
    assert build
    builds_by_limit = {limit: await store.verdicts.builds_before(build, limit) for limit in (1, 9)}
    assert {limit: [one.version for one in builds] for limit, builds in builds_by_limit.items()} == {
        1: ["2"],
        9: ["2", "1"],
    }


async def test_an_execution_has_its_progress_and_its_runs_expired_ones_too(store: MongoStore) -> None:
    story = StoredCiStory(store)
    execution = story.ci(story.build("1"), "main", "c", total=3, pay="passed", search="failed")
    await story.fold()
    verdicts = store.verdicts
    progress = ExecutionProgress(total=3, finished=2, storm=False)
    assert await verdicts.progress([execution, "unknown"]) == {execution: progress}
    runs = {run.test_id: run for run in await verdicts.runs_of_execution(execution)}
    pay, search = runs["pay"], runs["search"]
    assert (pay.success, pay.branch, pay.commit_sha, pay.failure_reason) == (True, "main", "c", None)
    assert (pay.build_version, pay.expired, search.expired) == ("1", False, False)
    assert (search.success, search.category, search.failure_reason) == (False, "unknown", "went wrong")
    await expire(store.projections, [pay.run_id])
    assert {run.test_id: run.expired for run in await verdicts.runs_of_execution(execution)} == {
        "pay": True,
        "search": False,
    }
