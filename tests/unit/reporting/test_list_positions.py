"""Where pages begin: added up from the counters of days and minutes, however deep."""

from collections import Counter
from copy import deepcopy
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from services.chassis.context import Caller, bind
from services.reporting.model.list_positions import ListPosition, day_of, minute_of, position_by_day, position_by_minute
from services.reporting.model.tables import Table
from services.reporting.ports import Page
from services.reporting.usecases.run_lists import RunLists
from tests.fakes.reporting_attempts import NO_DEADLINE
from tests.fakes.reporting_read_models import FakeReadModels
from tests.fakes.reporting_story import NOW, ORG, Story

MOMENTS = st.lists(
    st.builds(
        lambda day, minute, ms: NOW - timedelta(days=day, minutes=minute, milliseconds=ms),
        st.integers(0, 3),
        st.integers(0, 1500),
        st.integers(0, 60_000),
    ),
    max_size=30,
)


@NO_DEADLINE
@given(moments=MOMENTS, skip=st.integers(0, 35))
def test_a_position_leads_to_the_same_row_as_skipping(moments: list[datetime], skip: int) -> None:
    rows = sorted(moments, reverse=True)
    place = position_by_day(Counter(map(day_of, rows)), skip)
    if skip >= len(rows):
        assert place is None
        return
    assert place is not None
    minutes = Counter(minute_of(at) for at in rows if day_of(at) == place.day)
    found = position_by_minute(place, minutes)
    assert [at for at in rows if at < found.before][found.skip] == rows[skip]
    assert found.before - rows[skip] <= timedelta(minutes=1)


def test_other_fields_and_negative_counts_are_ignored() -> None:
    days = {"runs": 9, "listed": 2, "2026-11-20": 0, "2026-11-19": -1, "2026-11-18": 2}
    assert position_by_day(days, 1) == ListPosition(datetime(2026, 11, 19, tzinfo=UTC), 1)


def test_when_the_minutes_are_fewer_than_the_day_had_the_day_before_follows() -> None:
    day = ListPosition(datetime(2026, 11, 21, tzinfo=UTC), 5)
    assert position_by_minute(day, {"1200": 3}) == ListPosition(datetime(2026, 11, 20, tzinfo=UTC), 0)


def test_the_last_minute_of_a_day_ends_with_the_day() -> None:
    day = ListPosition(datetime(2026, 11, 21, tzinfo=UTC), 0)
    assert position_by_minute(day, {"2359": 1}) == ListPosition(datetime(2026, 11, 21, tzinfo=UTC), 0)


async def test_pages_concatenate_to_the_whole_list(story: Story) -> None:
    build = story.build("1.0")
    for number in range(25):
        story.run("t", build, at=NOW - timedelta(hours=7 * number), run_id=f"run-{number:02}")
    whole = (await story.runs.of_build(build.id, Page(0, 100))).items
    for size in (1, 4, 25):
        pages = [await story.runs.of_build(build.id, Page(skip, size)) for skip in range(0, 25, size)]
        assert [item for page in pages for item in page.items] == whole
        assert {page.total for page in pages} == {25}


async def test_a_page_stays_valid_when_runs_come_or_go_meanwhile(story: Story) -> None:
    build = story.build("1.0")
    for number in range(9):
        story.run("t", build, at=NOW - timedelta(hours=9 * number), run_id=f"run-{number}")
    counted = deepcopy(story.tables.counters)
    for number in range(9, 14):
        story.run("t", build, at=NOW - timedelta(hours=9 * number - 30), run_id=f"run-{number:02}")
    fewer, more = deepcopy(story.tables), deepcopy(story.tables)
    fewer.counters = counted
    more.runs = Table(list(more.runs.rows())[:4])
    for tables in (fewer, more):
        with bind(Caller(ORG)):
            pages = [await RunLists(FakeReadModels(tables)).of_build(build.id, Page(skip, 3)) for skip in range(16)]
        assert all(len(page.items) <= 3 for page in pages)


async def test_a_page_far_past_the_end_is_empty(story: Story) -> None:
    story.run("t", story.build("1.0"))
    assert (await story.runs.of_test("t", Page(10**12, 500))).items == []


class Watched(FakeReadModels):
    """Notes how much is skipped."""

    skipped = 0

    async def runs_of_test(self, test_id: str, page: Page) -> list[bytes]:
        self.skipped += page.skip
        return list(await super().runs_of_test(test_id, page))


async def test_a_deep_page_skips_only_inside_of_a_minute(story: Story) -> None:
    for number in range(60):
        story.run("t", None, at=NOW - timedelta(minutes=10 * number), app=None)
    watched = Watched(story.tables)
    with bind(Caller(ORG)):
        page = await RunLists(watched).of_test("t", Page(50, 5))
    assert (len(page.items), page.total, watched.skipped) == (5, 60, 0)
