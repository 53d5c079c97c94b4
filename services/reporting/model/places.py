"""Where runs and builds stand in their lists, counted by day and minute, so that a page is found without skipping.

A list is sorted by time, newest first. Its counter has a field for each UTC day ("2026-11-21"), and, for lists of
runs, a counter for each day has a field for each minute ("0731"): adding these up from the newest leads to the minute
in which a page begins, however deep it lies.
"""

from datetime import datetime

from services.reporting.model import counters
from services.reporting.model.tables import RunRow, Tables


def day_of(moment: datetime) -> str:
    """The field of its UTC day."""
    return f"{moment:%Y-%m-%d}"


def minute_of(moment: datetime) -> str:
    """The field of its minute."""
    return f"{moment:%H%M}"


def minutes(counter: str, day: str) -> str:
    """The counter of a list's minutes of one day."""
    return f"{counter}:{day}"


def lists(row: RunRow) -> list[str]:
    """The counters of the lists that a run stands in."""
    return [counters.test(row.test_id), *([counters.build(row.build_id)] if row.build_id else ())]


def move(tables: Tables, before: RunRow | None, row: RunRow) -> None:
    """Count the run where it stands now instead of where it stood."""
    was = {(name, before.listed_at) for name in lists(before)} if before else set()
    now = {(name, row.listed_at) for name in lists(row)}
    for (name, at), amount in [*((place, -1) for place in was - now), *((place, 1) for place in now - was)]:
        count(tables.counters, row.org_id, name, at, amount)


def count(table: counters.Counters, org_id: str, name: str, at: datetime, amount: int) -> None:
    """Count a run that stands at this moment in the list with this counter."""
    day = day_of(at)
    counters.add(table, org_id, name, {day: amount})
    counters.add(table, org_id, minutes(name, day), {minute_of(at): amount})
