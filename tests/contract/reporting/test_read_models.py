"""What is stored equals a recount, and nobody sees what another organisation has."""

from typing import Any

from hypothesis import settings

from services.chassis.context import Caller, bind
from services.reporting.model.flaky import Classification, FlakyRules
from services.reporting.model.projection import ProjectionRules
from services.reporting.model.reports.breakage import ANY, SearchSide, VerdictQuery
from services.reporting.model.snapshots import BuildSnapshot
from services.reporting.ports import RowPage, TestFilter
from services.reporting.storage.projections import DOCUMENTS_AT_ONCE
from tests.contract.reporting.store import MongoStore, StoredCiStory
from tests.examples import examples
from tests.fakes.reporting_attempts import NO_DEADLINE, START
from tests.fakes.reporting_story import APP, NOW, ORG

RULES = ProjectionRules(flaky=FlakyRules(window=3))
EXAMPLES = settings(NO_DEADLINE, max_examples=examples(40))


async def test_a_batch_of_more_documents_than_the_driver_takes_at_once_is_stored(store: MongoStore) -> None:
    for revision in (1, 2):
        builds = [
            BuildSnapshot(f"build-{number:04}", ORG, revision, False, "app-0", f"{revision}.{number}", START)
            for number in range(DOCUMENTS_AT_ONCE + 1)
        ]
        await store.fold(builds, size=len(builds))
        stored = await store.tables()
        assert [row for _, row in sorted(stored.builds.rows())] == builds


async def test_another_organisation_finds_nothing(store: MongoStore) -> None:
    story = StoredCiStory(store)
    story.app(current="1")
    story.test("pay", "Pay")
    story.attach("pay")
    build = story.main("1", pay="passed")
    story.main("2", pay="failed")
    story.quarantine("pay", NOW)
    await story.fold()
    assert all(await lookups(store, build.id))
    with bind(Caller("another")):
        assert not any(await lookups(store, build.id))


async def lookups(store: MongoStore, build_id: str) -> list[Any]:
    """What every lookup gives about the only build, app and test."""
    read, tests, verdicts = store.read_models, store.tests, store.verdicts
    page, builds, cells = RowPage(0, 9), [build_id], [(APP, "pay", build_id)]
    build = BuildSnapshot("later", ORG, 1, False, APP, "9", NOW)
    return [
        await read.apps_by_id([APP]),
        await read.counters([f"build:{build_id}"]),
        await read.builds(APP, page),
        await read.builds_of_versions(APP, ["1"]),
        await read.builds_by_id(builds),
        await read.tests_by_id(["pay"]),
        await read.attachments(APP),
        await read.verdicts(APP, builds, ["pay"]),
        await read.cells_of_builds(APP, builds),
        await read.subjects_of_branch(APP, builds, "main"),
        await read.cells(cells),
        await read.assessments(APP, ["pay"]),
        await read.observed(APP, ["pay"]),
        await read.runs_of_build(build_id, page),
        await read.runs_of_test("pay", page),
        await tests.with_history(Classification.INSUFFICIENT_DATA),
        await tests.newest(TestFilter(), page),
        await tests.count(TestFilter()),
        await tests.quarantines(["pay"]),
        await verdicts.uploads(cells),
        await verdicts.find(cells, VerdictQuery(SearchSide.AFTER, ANY, ("main",))),
        await store.scanned_verdicts.find(cells, VerdictQuery(SearchSide.AFTER, ANY, ("main",))),
        await verdicts.attempts([(APP, "pay")]),
        await verdicts.builds_before(build, 9),
        await verdicts.progress(["ci-0001"]),
        await verdicts.runs_of_execution("ci-0001"),
    ]


async def test_nothing_is_found_for_no_keys(store: MongoStore) -> None:
    read = store.read_models
    assert [await read.counters([]), await read.cells([]), await read.assessments(APP, [])] == [{}, {}, {}]
    assert await store.verdicts.find([], VerdictQuery(SearchSide.FIRST, ANY, (None,))) == {}
