"""The health of an app: what its newest build with a verdict says."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from services.reporting.model.reports.breakage import ComparedBuild
from services.reporting.model.reports.compare import Comparison
from services.reporting.model.snapshots import Outcome


class HealthResult(StrEnum):
    """Worst first; the values are those of the contract."""

    BROKEN = "broken"
    FAILING = "failing"
    PASSING = "passing"
    UNKNOWN = "unknown"


_RANKS = {result: rank for rank, result in enumerate(HealthResult)}


@dataclass(frozen=True, slots=True)
class HealthCounts:
    """Tests of a comparison; `never_passed` also counts those that had not run before."""

    newly_failing: int = 0
    still_failing: int = 0
    never_passed: int = 0
    flaky: int = 0
    passing: int = 0
    not_run: int = 0

    @property
    def failing(self) -> int:
        return self.newly_failing + self.still_failing + self.never_passed


@dataclass(frozen=True, slots=True)
class AppHealth:
    """An app; `build` is None without a verdict on any build, and the last run without a finished run."""

    app_id: str
    build: ComparedBuild | None = None
    counts: HealthCounts = HealthCounts()
    last_run_at: datetime | None = None
    last_execution_id: str | None = None
    last_outcome: Outcome | None = None

    @property
    def result(self) -> HealthResult:
        if self.counts.newly_failing:
            return HealthResult.BROKEN
        if self.counts.failing:
            return HealthResult.FAILING
        return HealthResult.PASSING if self.counts.passing else HealthResult.UNKNOWN


class AppOrder(StrEnum):
    """In which order apps are listed; the values are those of the contract."""

    HEALTH = "health"
    NAME = "name"
    LAST_RUN = "last_run"


def health_order(health: AppHealth) -> tuple[int, int, float, str]:
    """What apps are sorted by: worst first, then the newest run first."""
    count = health.counts.newly_failing if health.result is HealthResult.BROKEN else health.counts.failing
    return (_RANKS[health.result], -count, *run_order(health))


def run_order(health: AppHealth) -> tuple[float, str]:
    """The newest run first; apps without one come last."""
    return (-health.last_run_at.timestamp() if health.last_run_at else 0.0, health.app_id)


def count_tests(comparison: Comparison) -> HealthCounts:
    """How many tests are in the lists of a comparison."""
    return HealthCounts(
        newly_failing=len(comparison.newly_failing),
        still_failing=len(comparison.still_failing),
        never_passed=len(comparison.never_passed) + len(comparison.not_run_before),
        flaky=len(comparison.flaky),
        passing=comparison.passing + len(comparison.fixed),
        not_run=len(comparison.not_run),
    )
