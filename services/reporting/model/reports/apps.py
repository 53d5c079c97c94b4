"""An app's recent days: stats for lists, and the trend."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache

from services.reporting.model import counters
from services.reporting.model.reports.coverage import Targets
from services.reporting.model.snapshots import AttachmentSnapshot, BuildSnapshot
from services.reporting.model.sources import BuildSource

RECENT_DAYS = 14
CounterFields = Mapping[str, Mapping[str, int]]  # counter -> field -> amount


@dataclass(frozen=True, slots=True)
class AppStats:
    """What lists of apps show; the rate is a fraction 0..1 of verdicts, None without one."""

    app_id: str
    recent_executions: int
    rolling_pass_rate: float | None
    attribution_ready: bool
    recent_runs: int = 0


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """A UTC day; `executions` counts all runs that ended, also those without a verdict and the cancelled ones."""

    day: date
    executions: int
    passed: int
    failed: int
    infra_failed: int


def pass_rate(passed: int, failed: int) -> float | None:
    """passed / (passed + failed), 0..1, of the runs with a verdict; None without one."""
    return passed / (passed + failed) if passed + failed else None


@dataclass(frozen=True, slots=True)
class MonthWindow:
    """The recent days within one month: the fields of the month's counter for these days, by what they count."""

    month: str
    passed: tuple[str, ...]
    failed: tuple[str, ...]
    without_verdict: tuple[str, ...]
    executions: tuple[str, ...]


@lru_cache(maxsize=8)
def month_windows(today: date) -> tuple[MonthWindow, ...]:
    """The 14 UTC days that end with `today`, by month; cached, since lists of apps need them once per app."""
    days: dict[str, list[tuple[str, ...]]] = {}
    for day in counters.last_days(today, RECENT_DAYS):
        days.setdefault(counters.month(day), []).append(_names(day))
    return tuple(
        MonthWindow(
            month,
            passed=tuple(names[0] for names in fields),
            failed=tuple(names[1] for names in fields),
            without_verdict=tuple(name for names in fields for name in names[2:4]),
            executions=tuple(names[4] for names in fields),
        )
        for month, fields in days.items()
    )


def stats_counters(app_id: str, today: date) -> list[str]:
    """The counters that `app_stats` reads."""
    return [counters.app_all(app_id), *(counters.app_of_month(app_id, window.month) for window in month_windows(today))]


def app_stats(fields: CounterFields, app_id: str, today: date) -> AppStats:
    """The stats of the 14 UTC days that end with today."""
    executions = passed = failed = others = 0
    for window in month_windows(today):
        counted = fields.get(counters.app_of_month(app_id, window.month))
        if counted:
            executions += _sum(counted, window.executions)
            passed += _sum(counted, window.passed)
            failed += _sum(counted, window.failed)
            others += _sum(counted, window.without_verdict)
    attributed = fields.get(counters.app_all(app_id), {}).get("attributed", 0)
    return AppStats(app_id, executions, pass_rate(passed, failed), attributed > 0, passed + failed + others)


def _sum(counted: Mapping[str, int], names: Sequence[str]) -> int:
    return sum(counted.get(name, 0) for name in names)


def trend(fields: CounterFields, app_id: str, days: Sequence[date]) -> list[TrendPoint]:
    """One point a day, zeros for days without runs."""
    return [_point(fields.get(counters.app_month(app_id, day), {}), day) for day in days]


def _point(month: Mapping[str, int], day: date) -> TrendPoint:
    passed, failed, infra_failed, cancelled = (month.get(name, 0) for name in _names(day)[:4])
    return TrendPoint(day, passed + failed + infra_failed + cancelled, passed, failed, infra_failed)


@lru_cache(maxsize=1024)
def _names(day: date) -> tuple[str, ...]:
    """The fields of a day; cached, since lists of apps need thousands of them."""
    outcomes = ("passed", "failed", "infra_failed", "cancelled", "executions")
    return tuple(counters.day_field(day, name) for name in outcomes)


BUILDS_SHOWN = 50
# The fields to read of a build's counter, which also has one for each day on which the build ran.
BUILD_FIELDS = ("runs", "passed", "failed", "infra_failed")


@dataclass(frozen=True, slots=True)
class VerdictCount:
    """How many tests passed, or failed, on a build by their newest verdict there."""

    build_id: str
    passed: bool
    tests: int


@dataclass(frozen=True, slots=True)
class BuildHealth:
    """The runs and tests of one build; completed_runs = passed_runs + failed_runs are those with a verdict."""

    build: BuildSnapshot
    observed_tests: int
    passed_tests: int
    failed_tests: int
    coverage_rate: float
    exact_runs: int
    completed_runs: int
    passed_runs: int
    failed_runs: int
    infra_failed_runs: int
    pass_rate: float | None
    branch: str | None = None
    commit_sha: str | None = None


@dataclass(frozen=True, slots=True)
class ReportedWorkspace:
    """The part of an app's workspace view that reporting knows."""

    stats: AppStats
    trend: Sequence[TrendPoint]
    build_health: Sequence[BuildHealth]


def build_health(
    builds: Sequence[BuildSnapshot],
    fields: CounterFields,
    verdicts: Iterable[VerdictCount],
    *,
    attachments: Sequence[AttachmentSnapshot],
    targets: Targets,
    sources: Mapping[str, BuildSource],
) -> list[BuildHealth]:
    """One item for each build, in their order; `verdicts` are those of the attached tests on these builds, `sources` by
    build what CI named.
    """
    observed = {(counted.build_id, counted.passed): counted.tests for counted in verdicts}
    targeted = Counter(build.build_id for build in map(targets.build, attachments) if build)
    build_healths: list[BuildHealth] = []
    for build in builds:
        key = build.build_id
        runs = fields.get(counters.build(key), {})
        passed, failed = observed.get((key, True), 0), observed.get((key, False), 0)
        source = sources.get(key)
        health = _health(build, runs, passed, failed, targeted=targeted[key])
        build_healths.append(replace(health, branch=source.branch, commit_sha=source.commit_sha) if source else health)
    return build_healths


def _health(build: BuildSnapshot, runs: Mapping[str, int], passed: int, failed: int, *, targeted: int) -> BuildHealth:
    passed_runs, failed_runs = runs.get("passed", 0), runs.get("failed", 0)
    return BuildHealth(
        build=build,
        observed_tests=passed + failed,
        passed_tests=passed,
        failed_tests=failed,
        coverage_rate=min(1.0, (passed + failed) / targeted) if targeted else 0.0,
        exact_runs=runs.get("runs", 0),
        completed_runs=passed_runs + failed_runs,
        passed_runs=passed_runs,
        failed_runs=failed_runs,
        infra_failed_runs=runs.get("infra_failed", 0),
        pass_rate=pass_rate(passed_runs, failed_runs),
    )
