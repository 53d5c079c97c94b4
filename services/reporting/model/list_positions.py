"""Where runs and builds stand in their lists, counted by day and minute, so that a page is found without skipping.

A list is sorted by time, newest first. Its counter has a field for each UTC day ("2026-11-21"), and, for lists of
runs, a counter for each day has a field for each minute ("0731"): adding these up from the newest leads to the minute
in which a page begins, however deep it lies.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from services.reporting.model import counters
from services.reporting.model.tables import RunRow, Tables


def day_of(moment: datetime) -> str:
    """The field of its UTC day. (strftime takes four times as long.)"""
    return moment.isoformat()[:10]


def minute_of(moment: datetime) -> str:
    """The field of its minute."""
    text = moment.isoformat()
    return text[11:13] + text[14:16]


def minutes(counter: str, day: str) -> str:
    """The counter of a list's minutes of one day."""
    return f"{counter}:{day}"


def list_counters(row: RunRow) -> list[str]:
    """The counters of the lists that a run stands in."""
    return [counters.test(row.test_id), *([counters.build(row.build_id)] if row.build_id else ())]


def list_positions(row: RunRow | None) -> list[tuple[str, datetime]]:
    """Where the run stands: the counter and the moment of each of its lists; nowhere when it expired."""
    return [(name, row.listed_at) for name in list_counters(row)] if row and row.listed_at else []


def move_in_lists(tables: Tables, before: RunRow | None, row: RunRow) -> None:
    """Count the run where it stands now instead of where it stood."""
    was, now = list_positions(before), list_positions(row)
    if was == now:
        return
    for name, at in was:
        count_in_list(tables.counters, row.org_id, name, at, -1)
    for name, at in now:
        count_in_list(tables.counters, row.org_id, name, at, 1)


def count_in_list(table: counters.Counters, org_id: str, name: str, at: datetime, amount: int) -> None:
    """Count a run that stands at this moment in the list with this counter."""
    day = day_of(at)
    counters.add(table, org_id, name, {"listed": amount, day: amount})
    counters.add(table, org_id, minutes(name, day), {minute_of(at): amount})


@dataclass(frozen=True, slots=True)
class ListPosition:
    """Where something begins in a list: `skip` rows after the first one that is older than `before`."""

    before: datetime
    skip: int

    @property
    def day(self) -> str:
        """The day that the place lies in, for one found by days."""
        return day_of(self.before - _DAY)


def position_by_day(days: Mapping[str, int], skip: int) -> ListPosition | None:
    """Where the row after the newest `skip` is: its day's end, and how many of that day precede it.

    `days` are the fields of a list's counter; those that are no days are left out. None: there are fewer rows.
    """
    counted = {field: amount for field, amount in days.items() if is_day(field)}
    found = _find_field(counted, skip)
    if found is None:
        return None
    day, rest = found
    return ListPosition(datetime.fromisoformat(day).replace(tzinfo=UTC) + _DAY, rest)


def position_by_minute(place: ListPosition, minutes: Mapping[str, int]) -> ListPosition:
    """The same place, told by its minute; `minutes` are the fields of its day's counter.

    Days and minutes are read one after the other, and runs come and go in between: when the minutes are fewer than
    the day had, what follows them begins with the day before.
    """
    start = place.before - _DAY
    found = _find_field(minutes, place.skip)
    if found is None:
        return ListPosition(start, 0)
    minute, rest = found
    end = start + timedelta(hours=int(minute[:2]), minutes=int(minute[2:]) + 1)
    return ListPosition(end, rest)


def _find_field(counted: Mapping[str, int], skip: int) -> tuple[str, int] | None:
    """The newest field with which more than `skip` are counted, and how many of its own precede."""
    rest = skip
    for name in sorted(counted, reverse=True):
        amount = max(0, counted[name])
        if amount > rest:
            return name, rest
        rest -= amount
    return None


def is_day(field: str) -> bool:
    """Whether a field of a list's counter is a day."""
    return field[:1].isdigit()


_DAY = timedelta(days=1)
