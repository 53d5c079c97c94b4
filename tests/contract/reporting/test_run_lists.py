"""Pages of lists are found through their counters, in memory and in MongoDB."""

from hypothesis import given
from hypothesis import strategies as st

from services.chassis.context import Caller, bind
from services.reporting.model.batch import Snapshot
from services.reporting.ports import Page, ReadModels
from services.reporting.usecases.apps import AppReports
from services.reporting.usecases.run_lists import RunLists
from tests.contract.reporting.conftest import Store
from tests.contract.reporting.test_read_models import EXAMPLES, RULES, fold_in_pieces
from tests.fakes.reporting_attempts import START
from tests.fakes.reporting_read_models import FakeReadModels
from tests.fakes.reporting_recount import recount
from tests.fakes.reporting_story import StillClock
from tests.fakes.reporting_strategies import APPS, BUILDS, ORG, TESTS, build_number, snapshot_lists

ALL = Page(0, 1000)


@EXAMPLES
@given(told=snapshot_lists(), size=st.integers(1, 4))
async def test_pages_concatenate_to_the_whole_list(store: Store, told: list[Snapshot], size: int) -> None:
    await store.clear()
    await fold_in_pieces(store, told, size=50)
    with bind(Caller(ORG)):
        lists = RunLists(store.read_models)
        for build_id in (build_number(app, build).id for app in range(APPS) for build in range(BUILDS)):
            whole = await lists.of_build(build_id, ALL)
            pages = [await lists.of_build(build_id, Page(skip, size)) for skip in range(0, whole.total + size, size)]
            assert [item for page in pages for item in page.items] == list(whole.items)
            assert {page.total for page in pages} == {len(whole.items)}


@EXAMPLES
@given(told=snapshot_lists(), size=st.integers(2, 3))
async def test_matrix_pages_cover_all_builds(store: Store, told: list[Snapshot], size: int) -> None:
    await store.clear()
    await fold_in_pieces(store, told, size=50)
    reports = AppReports(store.read_models, StillClock(START), revision_wait=0)
    with bind(Caller(ORG)):
        for app in (f"app-{app}" for app in range(APPS)):
            whole = list(await store.read_models.builds(app, ALL))
            pages = [await reports.matrix(app, Page(skip, size), 0) for skip in range(0, 2 * BUILDS, size)]
            assert [build for page in pages for build in page.builds] == whole
            assert {page.total_builds for page in pages} == {len(whole)}


@EXAMPLES
@given(told=snapshot_lists(max_executions=4))
async def test_pages_before_a_moment_and_counter_fields_by_name(store: Store, told: list[Snapshot]) -> None:
    await store.clear()
    await fold_in_pieces(store, told, size=50)
    with bind(Caller(ORG)):
        assert await answers(store.read_models) == await answers(FakeReadModels(recount(told, RULES)))


async def answers(read: ReadModels) -> list[object]:
    before = sorted(START.replace(month=1, day=day) for day in (11, 12))
    pages = [Page(1, 3, moment) for moment in before]
    names = [f"test:test-{number}" for number in range(TESTS)]
    found = await read.counters(names, ["runs", "listed"])
    return [
        {name: {field: n for field, n in row.items() if n} for name, row in found.items()},
        *[await read.runs_of_test(f"test-{number}", page) for number in range(TESTS) for page in pages],
        *[await read.builds("app-0", Page(0, 9, build_number(0, number).uploaded_at)) for number in range(BUILDS)],
    ]
