"""Lists of tests by how they behave."""

from datetime import timedelta

import pytest
from hypothesis import given

from services.reporting.model.batch import Batch, Snapshot
from services.reporting.model.flaky import Classification
from services.reporting.model.snapshots import Quarantine
from services.reporting.ports import RowPage
from services.reporting.usecases.apps import AppReports
from services.reporting.usecases.classified_tests import ClassifiedQuery, ClassifiedTests
from services.reporting.usecases.report_sources import ReportSources
from tests.contract.reporting.store import MongoStore, StoredStory
from tests.fakes.chassis import FakeClock
from tests.fakes.reporting_attempts import NO_DEADLINE
from tests.fakes.reporting_story import APP, NOW
from tests.fakes.reporting_strategies import APPS, snapshot_lists

FLAKY, BROKEN, STABLE = Classification.FLAKY, Classification.BROKEN, Classification.STABLE
UNTRIED = Classification.INSUFFICIENT_DATA
FIRST = RowPage(0, 10)
OTHER = "app-2"
LIVES = {
    STABLE: ("passed",) * 6,
    BROKEN: ("failed",) * 6,
    FLAKY: ("passed", "failed") * 5,
    UNTRIED: ("passed",),
}


def tell(
    story: StoredStory, test: str, behaves: Classification | None, *, app: str = APP, attached: bool = True
) -> None:
    """A test with a history on an app; None: without one."""
    story.attach(test, app=app, attached=attached)
    for number, ending in enumerate(LIVES.get(behaves, ()) if behaves else ()):
        story.run(test, story.build("1.0"), ending, app=app, at=NOW - timedelta(hours=20 - number))


@pytest.fixture
def story(story: StoredStory) -> StoredStory:
    """Five tests, of which "none" never ran, and "two" behaves differently on two apps."""
    for test, name in {
        "stable": "Log in",
        "flaky": "Pay by card",
        "two": "Paying later",
        "few": "Search",
        "none": "Return",
    }.items():
        story.test(test, name)
    tell(story, "stable", STABLE)
    tell(story, "flaky", FLAKY)
    tell(story, "two", FLAKY)
    tell(story, "two", BROKEN, app=OTHER)
    tell(story, "few", UNTRIED)
    tell(story, "none", None)
    return story


async def found(story: StoredStory, query: ClassifiedQuery, page: RowPage = FIRST) -> list[str]:
    """The tests of a page."""
    return list((await story.classified.list(query, page)).test_ids)


@pytest.mark.parametrize(
    ("classification", "app_id", "tests"),
    [
        (FLAKY, None, ["two", "flaky"]),
        (BROKEN, None, ["two"]),
        (STABLE, None, ["stable"]),
        (UNTRIED, None, ["none", "few"]),
        (Classification.REGRESSED, None, []),
        (FLAKY, APP, ["two", "flaky"]),
        (FLAKY, OTHER, []),
        (BROKEN, OTHER, ["two"]),
        (UNTRIED, APP, ["none", "few"]),
        (UNTRIED, OTHER, []),
        (UNTRIED, "unknown", []),
    ],
)
async def test_tests_are_listed_by_their_class_on_any_app_or_on_one(
    story: StoredStory, classification: Classification, app_id: str | None, tests: list[str]
) -> None:
    listed = await story.classified.list(ClassifiedQuery(classification, app_id), FIRST)
    assert (list(listed.test_ids), listed.total) == (tests, len(tests))


async def test_an_attached_test_without_a_history_has_insufficient_data(story: StoredStory) -> None:
    """Though it has one on another; without an app it is not."""
    story.attach("stable", app=OTHER)
    assert await found(story, ClassifiedQuery(UNTRIED, OTHER)) == ["stable"]
    assert await found(story, ClassifiedQuery(UNTRIED)) == ["none", "few"]


async def test_a_detached_test_is_on_no_app_but_keeps_its_history(story: StoredStory) -> None:
    story.attach("flaky", attached=False)
    assert await found(story, ClassifiedQuery(FLAKY, APP)) == ["two"]
    assert await found(story, ClassifiedQuery(FLAKY)) == ["two", "flaky"]


async def test_deleted_tests_are_in_no_list(story: StoredStory) -> None:
    story.test("flaky", "Pay by card", deleted=True)
    story.test("none", "Return", deleted=True)
    assert await found(story, ClassifiedQuery(FLAKY)) == ["two"]
    assert await found(story, ClassifiedQuery(UNTRIED)) == ["few"]
    assert await found(story, ClassifiedQuery(UNTRIED, APP)) == ["few"]


@pytest.mark.parametrize(
    ("search", "tests"), [("pay", ["two", "flaky"]), ("PAY B", ["flaky"]), ("a.", []), ("\x00", []), ("x" * 700, [])]
)
async def test_search_is_a_literal_part_of_the_name(story: StoredStory, search: str, tests: list[str]) -> None:
    assert await found(story, ClassifiedQuery(FLAKY, search=search)) == tests


async def test_filters_apply_before_paging(story: StoredStory) -> None:
    """Platform (of it, or of none) and tag; the total is that of all pages."""
    for number in range(7):
        platform, tags = ("iOS", "Android", None)[number % 3], ("smoke",) * (number % 2)
        story.test(f"new-{number}", f"New {number}", platform=platform, tags=tags)
    query = ClassifiedQuery(UNTRIED, platform="iOS", search="new")
    assert await found(story, query) == ["new-6", "new-5", "new-3", "new-2", "new-0"]
    assert await found(story, ClassifiedQuery(UNTRIED, platform="iOS", tag="smoke")) == ["new-5", "new-3"]
    second = await story.classified.list(query, RowPage(2, 2))
    assert (list(second.test_ids), second.total) == (["new-3", "new-2"], 5)
    assert await found(story, query, RowPage(10, 2)) == []


async def test_a_class_can_be_narrowed_to_tests_in_quarantine(story: StoredStory) -> None:
    for test, days in (("two", 1), ("flaky", -1), ("stable", 1)):
        quarantine = Quarantine("Waits for the fix", NOW + timedelta(days=days), "ci key", NOW - timedelta(days=2))
        story.test(test, f"Name of {test}", quarantine=quarantine)
    assert await found(story, ClassifiedQuery(FLAKY, quarantined=True)) == ["two"]
    assert await found(story, ClassifiedQuery(FLAKY, APP, quarantined=True)) == ["two"]
    assert await found(story, ClassifiedQuery(BROKEN, APP, quarantined=True)) == []


@NO_DEADLINE
@given(told=snapshot_lists())
async def test_lists_of_an_app_agree_with_its_matrix(store: MongoStore, told: list[Snapshot]) -> None:
    """Those of attached tests that the catalog has; a list without an app has them all."""
    await store.clear()
    await store.fold(told)
    read = store.read_models
    known = {test.test_id for test in Batch.of(told).tests.values() if not test.deleted}
    sources = ReportSources(read, store.tests, store.verdicts, store.failures, FakeClock(NOW), revision_wait=0)
    classified, apps = ClassifiedTests(sources), AppReports(sources)
    for app in (f"app-{number}" for number in range(APPS)):
        attached = {item.test_id for item in await read.attachments(app)} & known
        matrix = await apps.matrix(app, RowPage(0, 50), min_revision=0)
        rows = {(row.test_id, row.classification) for row in matrix.rows if row.test_id in attached}
        listed = {each: await classified.list(ClassifiedQuery(each, app), RowPage(0, 50)) for each in Classification}
        assert {(test, each) for each, report in listed.items() for test in report.test_ids} == rows
        for each in set(Classification) - {UNTRIED}:
            everywhere = await classified.list(ClassifiedQuery(each), RowPage(0, 50))
            assert set(listed[each].test_ids) <= set(everywhere.test_ids)
