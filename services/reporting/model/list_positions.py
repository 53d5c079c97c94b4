"""Positions of runs and builds in their lists, counted by day and minute, so that a page is found without skipping,
and the expiry of runs beyond the retention limits: they leave the lists, and no figure changes.

A list is sorted by time, newest first. Its counter has a field for each UTC day ("2026-11-21"); for lists of runs, a
counter for each day has a field for each minute ("0731"). Adding these up from the newest leads to the minute in which
a page begins, however deep it is.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from services.reporting.model import counters
from services.reporting.model.tables import RunRow, Tables

_DAY = timedelta(days=1)


def day_of(moment: datetime) -> str:
    """The field of its UTC day. (strftime takes four times as long.)"""
    return moment.isoformat()[:10]


def minute_of(moment: datetime) -> str:
    """The field of its minute."""
    text = moment.isoformat()
    return text[11:13] + text[14:16]


@lru_cache(maxsize=1024)
def _day_and_minute(moment: datetime) -> tuple[str, str]:
    """What `day_of` and `minute_of` give. Cached, because the runs of an execution are accepted at one moment."""
    return day_of(moment), minute_of(moment)


def is_day(field: str) -> bool:
    """Whether a field of a list's counter is a day."""
    return field[:1].isdigit()


def minutes_counter(counter: str, day: str) -> str:
    """The counter of a list's minutes of one day."""
    return f"{counter}:{day}"


def list_counters(row: RunRow) -> list[str]:
    """The counters of the lists that a run belongs to."""
    of_test = counters.test(row.test_id)
    return [of_test, counters.build(row.build_id)] if row.build_id else [of_test]


def move_in_lists(tables: Tables, before: RunRow | None, after: RunRow) -> None:
    """Count the run at its new positions instead of its former ones."""
    if before is None:
        _count_in_lists(tables, after.org_id, after, 1)
    elif (before.build_id, before.test_id, before.listed_at) != (after.build_id, after.test_id, after.listed_at):
        _count_in_lists(tables, after.org_id, before, -1)
        _count_in_lists(tables, after.org_id, after, 1)


def _count_in_lists(tables: Tables, org_id: str, row: RunRow, amount: int) -> None:
    """Add `amount` to the positions of the run; an expired one has none."""
    if row.listed_at is not None:
        for name in list_counters(row):
            count_in_list(tables.counters, org_id, name, row.listed_at, amount)


def count_in_list(table: counters.Counters, org_id: str, counter: str, at: datetime, amount: int) -> None:
    """Add `amount` runs at this moment to the list with this counter."""
    day, minute = _day_and_minute(at)
    counters.add(table, org_id, counter, {"listed": amount, day: amount})
    counters.add(table, org_id, minutes_counter(counter, day), {minute: amount})


@dataclass(frozen=True, slots=True)
class ListPosition:
    """A position in a list: `skip` rows after the first one that is older than `before`."""

    before: datetime
    skip: int

    @property
    def day(self) -> str:
        """The day of a position that was found by days."""
        return day_of(self.before - _DAY)


def position_by_day(days: Mapping[str, int], skip: int) -> ListPosition | None:
    """The position of the row after the newest `skip`: the end of its day, and how many of that day precede it.

    `days` are the fields of a list's counter; fields that are not days are ignored. None: there are fewer rows.
    """
    day_position = _find_field({field: amount for field, amount in days.items() if is_day(field)}, skip)
    if day_position is None:
        return None
    day, rest = day_position
    return ListPosition(datetime.fromisoformat(day).replace(tzinfo=UTC) + _DAY, rest)


def position_by_minute(position: ListPosition, by_minute: Mapping[str, int]) -> ListPosition:
    """The same position, to the minute; `by_minute` are the fields of its day's counter.

    Days and minutes are read one after the other, and runs come and go in between. When the minutes add up to fewer
    runs than the day had, the page begins with the day before.
    """
    start = position.before - _DAY
    minute_position = _find_field(by_minute, position.skip)
    if minute_position is None:
        return ListPosition(start, 0)
    minute, rest = minute_position
    return ListPosition(start + timedelta(hours=int(minute[:2]), minutes=int(minute[2:]) + 1), rest)


def _find_field(counted: Mapping[str, int], skip: int) -> tuple[str, int] | None:
    """The newest field up to which more than `skip` are counted, and how many of its own precede the row."""
    rest = skip
    for name in sorted(counted, reverse=True):
        amount = max(0, counted[name])
        if amount > rest:
            return name, rest
        rest -= amount
    return None


@dataclass(frozen=True, slots=True)
class RetentionLimits:
    """How long runs stay in lists (None: without end), and how many per test (None: all); both apply."""

    age: timedelta | None = None
    per_test: int | None = None

    def __bool__(self) -> bool:
        """Whether there is a limit."""
        return self.age is not None or self.per_test is not None


def expire_runs(tables: Tables, run_ids: Iterable[str]) -> int:
    """Reduce those of these runs that have ended to what makes a repeated event a no-op; gives how many."""
    expired = 0
    for run_id in run_ids:
        row = tables.runs.get(run_id)
        if row is not None and row.status.terminal and not row.expired:
            reduced = replace(row, listed_at=None, list_item=b"", result=None)
            tables.runs.put(run_id, reduced)
            move_in_lists(tables, row, reduced)
            expired += 1
    return expired
