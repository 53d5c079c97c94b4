"""Lists of tests and quarantines are the same in memory and in MongoDB."""

from datetime import timedelta
from uuid import uuid4

from hypothesis import HealthCheck, given, settings

from services.chassis.context import Caller, bind
from services.reporting.model.batch import Batch, Snapshot
from services.reporting.model.flaky import Classification
from services.reporting.model.snapshots import Quarantine, TestSnapshot
from services.reporting.model.text_search import search_pattern
from services.reporting.ports import CatalogTests, Page, TestFilter
from services.reporting.usecases.projector import Projector
from tests.contract.reporting.conftest import Store
from tests.examples import examples
from tests.fakes.reporting_attempts import START
from tests.fakes.reporting_catalog_tests import FakeCatalogTests
from tests.fakes.reporting_recount import recount
from tests.fakes.reporting_strategies import ORG, TESTS, snapshot_lists

EXAMPLES = settings(
    max_examples=examples(6),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
ALL = Page(0, 100)
FILTERS = (
    TestFilter(),
    TestFilter(platform="iOS"),
    TestFilter(tag="smoke", pattern=search_pattern("TEST 2")),
    TestFilter(only=frozenset({"test-1", "test-3", "test-9"})),
    TestFilter(without=frozenset({"test-1", "test-3"})),
    TestFilter(only=frozenset(), platform="Android"),
    TestFilter(quarantined_at=START + timedelta(days=19), platform="iOS"),
    TestFilter(quarantined_at=START + timedelta(days=20)),
)


@EXAMPLES
@given(told=snapshot_lists())
async def test_lookups_agree_with_memory(store: Store, told: list[Snapshot]) -> None:
    """About any world."""
    await store.clear()
    await Projector(store.folds).apply_events(Batch.of(told))
    with bind(Caller(ORG)):
        assert await lookups(store.copied_tests) == await lookups(FakeCatalogTests(recount(told)))


async def lookups(copied: CatalogTests) -> list[object]:
    """The answers of all lookups."""
    answers: list[object] = [await copied.with_history()]
    answers += [await copied.with_history(each) for each in Classification]
    for filter in FILTERS:
        answers += [
            await copied.count(filter),
            await copied.newest(filter, ALL),
            await copied.newest(filter, Page(1, 2)),
        ]
    return [*answers, await copied.quarantines([f"test-{number}" for number in range(TESTS)])]


def snapshot(test: str, name: str = "Test", **fields: object) -> TestSnapshot:
    """A copy of a test of ORG."""
    return TestSnapshot(test, ORG, 1, fields.pop("deleted", False), name, **fields)  # type: ignore[arg-type]


async def kept(store: Store, *tests: TestSnapshot) -> CatalogTests:
    """These copies."""
    await store.clear()
    await Projector(store.folds).apply_events(Batch.of(tests))
    return store.copied_tests


async def test_newest_tests_come_first(store: Store) -> None:
    """Ids break ties, tests of an unknown time come last, deleted ones not at all."""
    later = START + timedelta(days=1)
    copied = await kept(
        store,
        snapshot("a", created_at=START),
        snapshot("b", created_at=later),
        snapshot("c", created_at=START),
        snapshot("d"),
        snapshot("e", created_at=later, deleted=True),
    )
    with bind(Caller(ORG)):
        assert await copied.newest(TestFilter(), ALL) == ["b", "c", "a", "d"]
        assert await copied.newest(TestFilter(), Page(1, 2)) == ["c", "a"]
        assert await copied.newest(TestFilter(), Page(4, 2)) == []
        assert await copied.count(TestFilter()) == 4


async def test_a_name_is_searched_literally_in_any_case_and_composition(store: Store) -> None:
    """As the catalog does."""
    expected: dict[str, set[str]] = {
        "straße": {"a"},
        "STRASSE": {"a"},
        "cafe\u0301": {"b"},
        "CAFÉ": {"b"},
        "(1.0)": {"b"},
        "1x0": set(),
        "^": set(),
        "e": {"a"},
    }
    copied = await kept(store, snapshot("a", "Straße"), snapshot("b", "Café (1.0)"))
    with bind(Caller(ORG)):
        patterns = {search: TestFilter(pattern=search_pattern(search)) for search in expected}
        assert {search: set(await copied.newest(patterns[search], ALL)) for search in expected} == expected


async def test_quarantines_are_given_by_test(store: Store) -> None:
    """Over or not: who reads says what time it is."""
    quarantine = Quarantine("Waits for the fix", START, "CI", START - timedelta(days=1))
    copied = await kept(store, snapshot("a", quarantine=quarantine), snapshot("b"))
    with bind(Caller(ORG)):
        assert await copied.quarantines(["a", "b", "c"]) == {"a": quarantine}
        assert await copied.quarantines([]) == {}


async def test_another_organisation_sees_nothing(store: Store) -> None:
    """No test, no quarantine."""
    quarantine = Quarantine("Waits for the fix", START, "CI", START)
    copied = await kept(store, snapshot("a", quarantine=quarantine))
    with bind(Caller(str(uuid4()))):
        assert (await copied.newest(TestFilter(), ALL), await copied.count(TestFilter())) == ([], 0)
        assert (await copied.quarantines(["a"]), await copied.with_history()) == ({}, frozenset())
