"""Where pages begin: added up from the counters of days and minutes, however deep."""

from collections import Counter
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from services.reporting.model.list_positions import ListPosition, day_of, minute_of, position_by_day, position_by_minute
from tests.fakes.reporting_attempts import NO_DEADLINE
from tests.fakes.reporting_story import NOW

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
    position = position_by_minute(place, minutes)
    assert [at for at in rows if at < position.before][position.skip] == rows[skip]
    assert position.before - rows[skip] <= timedelta(minutes=1)


def test_other_fields_and_negative_counts_are_ignored() -> None:
    days = {"runs": 9, "listed": 2, "2026-11-20": 0, "2026-11-19": -1, "2026-11-18": 2}
    assert position_by_day(days, 1) == ListPosition(datetime(2026, 11, 19, tzinfo=UTC), 1)


def test_when_the_minutes_are_fewer_than_the_day_had_the_day_before_follows() -> None:
    day = ListPosition(datetime(2026, 11, 21, tzinfo=UTC), 5)
    assert position_by_minute(day, {"1200": 3}) == ListPosition(datetime(2026, 11, 20, tzinfo=UTC), 0)


def test_the_last_minute_of_a_day_ends_with_the_day() -> None:
    day = ListPosition(datetime(2026, 11, 21, tzinfo=UTC), 0)
    assert position_by_minute(day, {"2359": 1}) == ListPosition(datetime(2026, 11, 21, tzinfo=UTC), 0)
