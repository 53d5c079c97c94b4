"""Quarantine in reports: the present one of the test, wherever it shows, until it ends by itself."""

from datetime import timedelta
from typing import Any

import pytest

from services.reporting.model.snapshots import Quarantine
from services.reporting.ports import RowPage
from tests.contract.reporting.store import StoredStory
from tests.fakes.reporting_story import APP, NOW

FIRST = RowPage(0, 10)
UNTIL = NOW + timedelta(days=1)
QUARANTINE = Quarantine("Waits for SHOP-1", UNTIL, "CI of the shop", NOW - timedelta(hours=2))


@pytest.fixture
def story(story: StoredStory) -> StoredStory:
    """A test that ran before it was put into quarantine, and one that is attached and never ran."""
    story.app()
    story.attach("t")
    story.attach("other")
    story.run("t", story.build("1.0"), "failed", at=NOW - timedelta(hours=3))
    story.test("t", "Pay", quarantine=QUARANTINE)
    story.test("other", "Log in")
    return story


async def shown(story: StoredStory) -> list[Any]:
    """The quarantine of "t" in matrix, coverage and the item of its run."""
    row = next(row for row in (await story.apps.matrix(APP, FIRST)).rows if row.test_id == "t")
    item = next(item for item in (await story.apps.coverage(APP)).items if item.test_id == "t")
    run = (await story.quarantines.of(["t", "other"])).get("t")
    return [row.quarantine, item.quarantine, run]


async def test_quarantine_shows_on_runs_from_before_it(story: StoredStory) -> None:
    assert await shown(story) == [QUARANTINE] * 3
    assert await story.quarantines.of(["other", "unknown"]) == {}
    assert [row.quarantine for row in (await story.apps.matrix(APP, FIRST)).rows if row.test_id != "t"] == [None]


async def test_quarantine_expires(story: StoredStory) -> None:
    clock = story.clock
    clock.moment = UNTIL - timedelta(milliseconds=1)
    assert await shown(story) == [QUARANTINE] * 3
    clock.moment = UNTIL
    assert await shown(story) == [None] * 3


async def test_quarantine_ends_when_the_catalog_removes_it(story: StoredStory) -> None:
    story.test("t", "Pay")
    assert await shown(story) == [None] * 3


async def test_quarantine_changes_no_figure(story: StoredStory) -> None:
    with_it = (await story.apps.matrix(APP, FIRST)).rows
    story.test("t", "Pay")
    without = (await story.apps.matrix(APP, FIRST)).rows
    assert [row.classification_detail for row in with_it] == [row.classification_detail for row in without]
    assert [row.cells for row in with_it] == [row.cells for row in without]
