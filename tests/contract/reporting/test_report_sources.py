"""Organisations compose reports in turns, which none of them holds while it waits for events."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from services.chassis.errors import ResourceExhausted
from services.reporting.model.attempts import BuildRef
from services.reporting.model.flaky import Classification
from services.reporting.ports import RowPage
from services.reporting.usecases.classified_tests import ClassifiedQuery
from services.reporting.usecases.gate import GateRequest
from services.reporting.usecases.report_sources import ReportTurns
from tests.contract.reporting.store import MongoStore, StoredCiStory
from tests.eventually import stop
from tests.fakes.reporting_story import APP

# A revision that reporting does not have.
LATER = 1_000_000

Report = Callable[[StoredCiStory, BuildRef, int | None], Awaitable[Any]]

REPORTS: dict[str, Report] = {
    "workspace": lambda story, _, revision: story.apps.workspace(APP, 14, revision),
    "matrix": lambda story, _, revision: story.apps.matrix(APP, RowPage(0, 10), revision),
    "coverage": lambda story, _, revision: story.apps.coverage(APP, revision),
    "comparison": lambda story, build, revision: story.comparisons.compare(build.id, build.id, revision),
    "gate": lambda story, _, ended: story.gates.of(GateRequest("ci-0001", "main", ended, 1)),
    "build gate": lambda story, build, revision: story.build_gates.of(build.id, "main", revision),
}


@pytest.fixture
def turns() -> ReportTurns:
    return ReportTurns(1, per_org=1, waiting_per_org=0, waiting=0)


@pytest.fixture
def story(store: MongoStore, turns: ReportTurns) -> StoredCiStory:
    return StoredCiStory(store, turns=turns)


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
async def test_each_report_takes_a_turn(story: StoredCiStory, turns: ReportTurns, report: Report) -> None:
    build = story.main("1", pay="passed")
    story.app()
    assert await report(story, build, None)
    async with turns.take():
        with pytest.raises(ResourceExhausted):
            await report(story, build, None)
    assert await report(story, build, None)


async def test_a_list_by_classification_takes_a_turn(story: StoredCiStory, turns: ReportTurns) -> None:
    query = ClassifiedQuery(Classification.STABLE)
    async with turns.take():
        with pytest.raises(ResourceExhausted):
            await story.classified.list(query, RowPage(0, 10))
    assert (await story.classified.list(query, RowPage(0, 10))).total == 0


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
async def test_a_report_that_waits_for_events_holds_no_turn(
    store: MongoStore, turns: ReportTurns, report: Report
) -> None:
    story = StoredCiStory(store, turns=turns, wait=3600)
    build = story.main("1", pay="passed")
    story.app()
    waiting = asyncio.ensure_future(report(story, build, LATER))
    for _ in range(3):
        assert await story.apps.workspace(APP, 14)
    assert not waiting.done()
    await stop(waiting)
