"""Folding and looking up work the same in memory and in MongoDB, and equal a recount."""

from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.chassis.context import Caller, bind
from services.reporting.model.batch import Batch, Snapshot
from services.reporting.model.flaky import Classification, FlakyRules
from services.reporting.model.projection import Rules
from services.reporting.model.snapshots import BuildSnapshot
from services.reporting.ports import Page, ReadModels
from services.reporting.storage.projections import DOCUMENTS_AT_ONCE
from services.reporting.usecases.projector import Projector
from tests.contract.reporting.conftest import Store
from tests.contract.reporting.tables import contents
from tests.examples import examples
from tests.fakes.reporting_attempts import START
from tests.fakes.reporting_read_models import FakeReadModels
from tests.fakes.reporting_recount import recount
from tests.fakes.reporting_strategies import APPS, BUILDS, ORG, TESTS, build_number, snapshot_lists

RULES = Rules(flaky=FlakyRules(window=3))
EXAMPLES = settings(
    max_examples=examples(8),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@EXAMPLES
@given(told=snapshot_lists(), random=st.randoms(use_true_random=False))
async def test_what_is_stored_equals_a_recount(store: Store, told: list[Snapshot], random: Random) -> None:
    await store.clear()
    shuffled = told * 2
    random.shuffle(shuffled)
    await fold_in_pieces(store, shuffled, size=random.randint(1, 40))
    assert contents(await store.tables()) == contents(recount(told, RULES))


async def fold_in_pieces(store: Store, told: list[Snapshot], *, size: int) -> None:
    folding = Projector(store.folds, RULES)
    for start in range(0, len(told), size):
        await folding.apply_events(Batch.of(told[start : start + size]))


@EXAMPLES
@given(told=snapshot_lists())
async def test_lookups_agree_with_memory(store: Store, told: list[Snapshot]) -> None:
    await store.clear()
    await fold_in_pieces(store, told, size=50)
    expected = FakeReadModels(recount(told, RULES))
    with bind(Caller(ORG)):
        assert await lookups(store.read_models) == await lookups(expected)


async def lookups(read: ReadModels) -> list[object]:
    """The answers of every lookup about everything that a world may have."""
    apps, tests = [f"app-{app}" for app in range(APPS)], [f"test-{test}" for test in range(TESTS)]
    builds = [build_number(app, build).id for app in range(APPS) for build in range(BUILDS)]
    counters = [f"app:{app}:{part}" for app in apps for part in ("all", "2026-01")]
    counters += [f"build:{build}" for build in builds] + [f"test:{test}" for test in tests]
    answers: list[object] = [
        {name: {key: n for key, n in row.items() if n} for name, row in (await read.counters(counters)).items()},
        await read.builds_by_id(builds),
        await read.tests_by_id(tests),
        await read.cells([(app, test, build) for app in apps for test in tests for build in builds[:2]]),
    ]
    for app in apps:
        answers += await _app_lookups(read, app, builds, tests)
    answers += [await read.runs_of_build(build, page) for build in builds for page in (Page(0, 3), Page(3, 100))]
    answers += [await read.runs_of_test(test, Page(1, 100)) for test in tests]
    return [_without_groups(answer) if index == 3 else answer for index, answer in enumerate(answers)]


async def _app_lookups(read: ReadModels, app: str, builds: list[str], tests: list[str]) -> list[object]:
    return [
        await read.app(app),
        await read.builds(app, Page(0, 2)),
        await read.builds(app, Page(1, 100)),
        {build.build_id for build in await read.builds_of_versions(app, ["1.1", "1.3", "7"])},
        set(await read.attachments(app)),
        set(await read.verdicts(app, builds, tests[1:])),
        await read.cells_of_builds(app, builds[1:]),
        await read.assessments(app, tests),
        *[await read.assessments(app, tests, only) for only in Classification],
        await read.observed(app, tests),
    ]


def _without_groups(cells: object) -> object:
    assert isinstance(cells, dict)
    return {key: (cell.passed, cell.failed, cell.last, cell.verdict, cell.active) for key, cell in cells.items()}


async def test_a_batch_of_more_documents_than_the_driver_takes_at_once_is_stored(store: Store) -> None:
    folding = Projector(store.folds)
    for revision in (1, 2):
        builds = [
            BuildSnapshot(f"build-{number:04}", ORG, revision, False, "app-0", f"{revision}.{number}", START)
            for number in range(DOCUMENTS_AT_ONCE + 1)
        ]
        await folding.apply_events(Batch.of(builds))
        stored = await store.tables()
        assert [row for _, row in sorted(stored.builds.rows())] == builds


async def test_another_organisation_sees_nothing(store: Store) -> None:
    build = BuildSnapshot(build_number(0, 0).id, ORG, 1, False, "app-0", "1.1", START)
    await Projector(store.folds).apply_events(Batch.of([build]))
    with bind(Caller("another")):
        assert await store.read_models.builds("app-0", Page(0, 10)) == []
        assert await store.read_models.builds_by_id([build.build_id]) == {}
        assert await store.read_models.counters(["app:app-0:all"]) == {}
    with bind(Caller(ORG)):
        assert await store.read_models.builds("app-0", Page(0, 10)) == [build]


async def test_no_query_is_sent_for_no_keys(store: Store) -> None:
    with bind(Caller(ORG)):
        assert await store.read_models.counters([]) == {}
        assert await store.read_models.cells([]) == {}
        assert await store.read_models.app("app-9") is None
