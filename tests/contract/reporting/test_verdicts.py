"""Verdicts on other builds, and the runs of an execution, are the same from memory and from MongoDB."""

from datetime import timedelta
from itertools import product

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.chassis.context import Caller, bind
from services.reporting.model.attempts import Attempt, BuildRef
from services.reporting.model.batch import Batch, Snapshot
from services.reporting.model.list_positions import expire_runs
from services.reporting.model.reports.breakage import ANY, FAILED, PASSED, Branches, PassQuery, SearchSide, VerdictQuery
from services.reporting.model.reports.gate import GateRun
from services.reporting.model.tables import EPOCH, CellKey, Tables
from services.reporting.ports import Verdicts
from services.reporting.storage.subdocuments import encode_attempts, holds_pass
from services.reporting.usecases.projector import Projector
from tests.contract.reporting.conftest import Store
from tests.examples import examples
from tests.fakes.reporting_ci_story import CiStory
from tests.fakes.reporting_read_models import FakeReadModels
from tests.fakes.reporting_recount import recount
from tests.fakes.reporting_story import APP, NOW
from tests.fakes.reporting_strategies import APPS, BUILDS, ORG, TESTS, build_number, snapshot_lists
from tests.fakes.reporting_verdicts import FakeVerdicts

EXAMPLES = settings(
    max_examples=examples(6),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
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
BRANCHES: list[Branches] = [("main",), ("feature", "main", None), (None,)]


@EXAMPLES
@given(told=snapshot_lists(max_executions=14), storms=st.booleans())
async def test_verdict_searches_agree_with_memory(store: Store, told: list[Snapshot], storms: bool) -> None:
    await store.clear()
    await Projector(store.folds).apply_events(Batch.of(told))
    expected = FakeVerdicts(recount(told))
    with bind(Caller(ORG)):
        for side, outcomes, branches in product(SearchSide, (ANY, PASSED, FAILED), BRANCHES):
            sought = VerdictQuery(side, outcomes, branches, storms)
            known = await expected.find(KEYS, sought)
            assert await store.verdicts.find(KEYS, sought) == known
            assert await store.scanned_verdicts.find(KEYS, sought) == known
        histories = {(app_id, test_id) for app_id, test_id, _ in KEYS}
        assert await store.verdicts.attempts(histories) == await expected.attempts(histories)


@EXAMPLES
@given(told=snapshot_lists(max_executions=14), branches=st.sampled_from(BRANCHES), place=st.sampled_from(KEYS))
async def test_verdicts_of_cells_and_passes_agree_with_memory(
    store: Store, told: list[Snapshot], branches: Branches, place: CellKey
) -> None:
    await store.clear()
    await Projector(store.folds).apply_events(Batch.of(told))
    expected = FakeVerdicts(recount(told))
    with bind(Caller(ORG)):
        known = await expected.of_cells(KEYS)
        assert await store.verdicts.of_cells(KEYS) == known
        after = known[place].build_order if place in known else (EPOCH, "")
        passes = {key[:2]: PassQuery(branches, after) for key in KEYS if key[1] != place[1]}
        tests = {key[:2] for key in KEYS}
        assert await store.verdicts.attempts(tests, passes) == await expected.attempts(tests, passes)


@given(attempts=st.lists(ATTEMPTS, max_size=6), branches=st.lists(ATTEMPT_BRANCHES), after=ATTEMPT_BUILDS)
def test_a_pass_is_seen_in_encoded_attempts(
    attempts: list[Attempt], branches: list[str | None], after: BuildRef
) -> None:
    sought = PassQuery(tuple(branches), after.key)
    assert holds_pass(encode_attempts(tuple(attempts)), sought) is any(map(sought.fits, attempts))


async def test_scans_tell_builds_of_one_moment_apart(store: Store) -> None:
    """Five builds of one moment, each with a failure or a pass; the searches start from the one in the middle."""
    story = CiStory()
    at = NOW - timedelta(days=3)
    for number, ending in enumerate(["passed", "failed", "failed", "passed", "failed"]):
        build = BuildRef(at, f"build-{number}", str(number))
        story.ci(build, "main" if number != 1 else None, "c", t=ending)
    await store.clear()
    await Projector(store.folds).apply_events(Batch.of(story.told))
    keys = [(APP, "t", f"build-{number}") for number in range(5)]
    expected = FakeVerdicts(recount(story.told))
    with bind(Caller(ORG)):
        uploads = dict.fromkeys(keys, at)
        for side, outcomes, branches in product(SearchSide, (ANY, PASSED, FAILED), [("main",), ("main", None)]):
            sought = VerdictQuery(side, outcomes, branches, storms=True)
            assert await store.scanned_verdicts.find(keys, sought, uploads) == await expected.find(keys, sought)


@EXAMPLES
@given(told=snapshot_lists())
async def test_executions_and_earlier_builds_agree_with_memory(store: Store, told: list[Snapshot]) -> None:
    await store.clear()
    await Projector(store.folds).apply_events(Batch.of(told))
    tables = recount(told)
    with bind(Caller(ORG)):
        assert await answers(store.verdicts, tables) == await answers(FakeVerdicts(tables), tables)


async def answers(verdicts: Verdicts, tables: Tables) -> list[object]:
    """How far every execution is, its runs, and the builds before each build."""
    executions = [f"execution-{number:02}" for number in range(9)]
    builds = await FakeReadModels(tables).builds_by_id([key[2] for key in KEYS])
    return [
        *[await verdicts.progress(execution) for execution in executions],
        *[by_id(await verdicts.runs_of_execution(execution)) for execution in executions],
        *[await verdicts.builds_before(build, limit) for build in builds.values() for limit in (1, 50)],
    ]


def by_id(runs: object) -> dict[str, GateRun]:
    assert isinstance(runs, list)
    return {run.run_id: run for run in runs}


@EXAMPLES
@given(told=snapshot_lists(max_executions=3))
async def test_expired_runs_are_marked(store: Store, told: list[Snapshot]) -> None:
    await store.clear()
    await Projector(store.folds).apply_events(Batch.of(told))
    tables = await store.tables()
    ended = {run_id for run_id, row in tables.runs.rows() if row.status.terminal}
    expire_runs(tables, ended)

    async def save(transaction: object) -> None:
        await transaction.save(tables)  # type: ignore[attr-defined]

    await store.folds.transaction(save)
    with bind(Caller(ORG)):
        for execution, _ in tables.executions.rows():
            for run in await store.verdicts.runs_of_execution(execution):
                assert run.expired is (run.run_id in ended)


@EXAMPLES
@given(told=snapshot_lists(max_executions=3))
async def test_another_organisation_finds_nothing(store: Store, told: list[Snapshot]) -> None:
    await store.clear()
    await Projector(store.folds).apply_events(Batch.of(told))
    with bind(Caller("another")):
        assert await store.verdicts.find(KEYS, VerdictQuery(SearchSide.FIRST, ANY, ("main", "feature", None))) == {}
        assert await store.verdicts.attempts({key[:2] for key in KEYS}) == {}
        assert await store.verdicts.progress("execution-00") is None
        assert await store.verdicts.runs_of_execution("execution-00") == []


async def test_no_verdict_is_searched_for_no_keys(store: Store) -> None:
    with bind(Caller(ORG)):
        assert await store.verdicts.find([], VerdictQuery(SearchSide.FIRST, ANY, (None,))) == {}
