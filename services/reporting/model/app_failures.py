"""Failures of an app with the same fingerprint, over all tests and builds."""

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from services.reporting.model.attempts import BuildRef, newer_build
from services.reporting.model.snapshots import SourcePosition

# Of how many days before the newest one, which is among them, the failures are counted.
TREND_DAYS = 60
# A UTC day in ISO 8601, and how many runs failed on it.
DayCount = tuple[str, int]


@dataclass(slots=True, unsafe_hash=True)
class FailureSighting:
    """A run that ended with a failure; what is None or empty is not known of it."""

    at: datetime
    run_id: str
    execution_id: str
    test_id: str
    test_name: str
    build_id: str | None
    build_version: str
    branch: str | None

    @property
    def recency(self) -> tuple[datetime, str]:
        return (self.at, self.run_id)


@dataclass(slots=True, unsafe_hash=True)
class AppFailure:
    """Failures of an app with the same fingerprint: message and place are those of `last`.

    `newest_build` is the one that was uploaded last among those that have it. `days` are sorted, and only those that
    have some: see TREND_DAYS.
    """

    org_id: str
    category: str
    reason: str
    sample_message: str
    count: int
    first: FailureSighting
    last: FailureSighting
    newest_build: BuildRef | None
    days: tuple[DayCount, ...]
    step_index: int | None = None
    position: SourcePosition | None = None


def merge_failures(one: AppFailure | None, other: AppFailure) -> AppFailure:
    """The sum of two with the same key, in any order."""
    if one is None:
        return other
    newest = max(one, other, key=lambda failure: failure.last.recency)
    return replace(
        newest,
        count=one.count + other.count,
        first=min(one.first, other.first, key=lambda sighting: sighting.recency),
        newest_build=_newest_build(one.newest_build, other.newest_build),
        days=_merge_days(one.days, other.days),
    )


def _newest_build(one: BuildRef | None, other: BuildRef | None) -> BuildRef | None:
    return one if other is None else newer_build(one, other)


def _merge_days(one: tuple[DayCount, ...], other: tuple[DayCount, ...]) -> tuple[DayCount, ...]:
    """Days that are too old stay too old, so the order in which they are added changes nothing."""
    counts = dict(one)
    for day, count in other:
        counts[day] = counts.get(day, 0) + count
    if not counts:
        return ()
    oldest = (date.fromisoformat(max(counts)) - timedelta(days=TREND_DAYS - 1)).isoformat()
    return tuple(sorted((day, count) for day, count in counts.items() if day >= oldest))
