"""An app's recent days: stats for lists, and the trend."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from services.reporting.model import counters

RECENT_DAYS = 14
Fields = Mapping[str, Mapping[str, int]]  # counter -> field -> amount


@dataclass(frozen=True, slots=True)
class AppStats:
    """What lists of apps show; the rate is a fraction 0..1, None without runs."""

    app_id: str
    recent_executions: int
    rolling_pass_rate: float | None
    attribution_ready: bool


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """A UTC day; `failed` counts runs with and without a verdict, `executions` the cancelled ones too."""

    day: date
    executions: int
    passed: int
    failed: int


def pass_rate(passed: int, failed: int) -> float | None:
    """passed / (passed + failed), 0..1; None without runs."""
    return passed / (passed + failed) if passed + failed else None


def stats_counters(app_id: str, today: date) -> list[str]:
    """The counters that `app_stats` reads."""
    return [counters.app_all(app_id), *counters.months(app_id, counters.last_days(today, RECENT_DAYS))]


def app_stats(fields: Fields, app_id: str, today: date) -> AppStats:
    """The stats of the 14 UTC days that end with today."""
    days = counters.last_days(today, RECENT_DAYS)
    points = trend(fields, app_id, days)
    return AppStats(
        app_id=app_id,
        recent_executions=sum(_of_day(fields, app_id, day).get(_names(day)[4], 0) for day in days),
        rolling_pass_rate=pass_rate(sum(point.passed for point in points), sum(point.failed for point in points)),
        attribution_ready=fields.get(counters.app_all(app_id), {}).get("attributed", 0) > 0,
    )


def trend(fields: Fields, app_id: str, days: Sequence[date]) -> list[TrendPoint]:
    """One point a day, zeros for days without runs."""
    return [_point(_of_day(fields, app_id, day), day) for day in days]


def _point(month: Mapping[str, int], day: date) -> TrendPoint:
    passed, failed, infra_failed, cancelled = (month.get(name, 0) for name in _names(day)[:4])
    return TrendPoint(day, passed + failed + infra_failed + cancelled, passed, failed + infra_failed)


def _of_day(fields: Fields, app_id: str, day: date) -> Mapping[str, int]:
    return fields.get(counters.app_month(app_id, day), {})


@lru_cache(maxsize=1024)
def _names(day: date) -> tuple[str, ...]:
    """The fields of a day; lists of apps ask for thousands of them."""
    outcomes = ("passed", "failed", "infra_failed", "cancelled", "executions")
    return tuple(counters.day_field(day, name) for name in outcomes)
