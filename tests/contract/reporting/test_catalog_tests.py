"""Lists of the copies of tests, and their quarantines."""

from datetime import timedelta

import pytest

from services.chassis.text_search import search_pattern
from services.reporting.model.snapshots import Quarantine, TestSnapshot
from services.reporting.ports import RowPage, TestFilter
from tests.contract.reporting.store import MongoStore
from tests.fakes.reporting_attempts import START
from tests.fakes.reporting_story import ORG

ALL = RowPage(0, 100)
LATER = START + timedelta(days=1)
QUARANTINE = Quarantine("Waits for the fix", LATER, "CI", START)


def snapshot(test: str, name: str = "Test", *, deleted: bool = False, **fields: object) -> TestSnapshot:
    return TestSnapshot(test, ORG, 1, deleted, name, **fields)  # type: ignore[arg-type]


async def test_newest_tests_come_first(store: MongoStore) -> None:
    """Ids break ties, tests of an unknown time come last, deleted ones not at all."""
    await store.fold(
        [
            snapshot("a", created_at=START),
            snapshot("b", created_at=LATER),
            snapshot("c", created_at=START),
            snapshot("d"),
            snapshot("e", created_at=LATER, deleted=True),
        ]
    )
    pages = {ALL: ["b", "c", "a", "d"], RowPage(1, 2): ["c", "a"], RowPage(4, 2): []}
    assert {page: await store.tests.newest(TestFilter(), page) for page in pages} == pages
    assert await store.tests.count(TestFilter()) == 4


@pytest.mark.parametrize(
    ("filter", "tests"),
    [
        (TestFilter(platform="iOS"), "abc"),
        (TestFilter(platform="Android"), "bcd"),
        (TestFilter(tag="smoke"), "ad"),
        (TestFilter(tag="smoke", platform="iOS"), "a"),
        (TestFilter(only=frozenset("adx")), "ad"),
        (TestFilter(only=frozenset()), ""),
        (TestFilter(without=frozenset("ad")), "bc"),
        (TestFilter(only=frozenset("ab"), without=frozenset("b")), "a"),
        (TestFilter(quarantined_at=LATER - timedelta(milliseconds=1)), "c"),
        (TestFilter(quarantined_at=LATER), ""),
    ],
)
async def test_filters_are_combined(store: MongoStore, filter: TestFilter, tests: str) -> None:
    await store.fold(
        [
            snapshot("a", platform="iOS", tags=("smoke", "fast")),
            snapshot("b", tags=("fast",)),
            snapshot("c", quarantine=QUARANTINE),
            snapshot("d", platform="Android", tags=("smoke",)),
        ]
    )
    assert await store.tests.newest(filter, ALL) == sorted(tests, reverse=True)
    assert await store.tests.count(filter) == len(tests)


async def test_a_name_is_searched_literally_in_any_case_and_composition(store: MongoStore) -> None:
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
    await store.fold([snapshot("a", "Straße"), snapshot("b", "Café (1.0)")])
    patterns = {search: TestFilter(pattern=search_pattern(search)) for search in expected}
    assert {search: set(await store.tests.newest(patterns[search], ALL)) for search in expected} == expected


async def test_quarantines_are_given_by_test(store: MongoStore) -> None:
    await store.fold([snapshot("a", quarantine=QUARANTINE), snapshot("b")])
    assert await store.tests.quarantines(["a", "b", "c"]) == {"a": QUARANTINE}
    assert await store.tests.quarantines([]) == {}
