"""The workspace view: an app's trend and the health of its newest builds."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from services.reporting.model import counters
from services.reporting.model.reports.stats import AppStats, Fields, TrendPoint, pass_rate
from services.reporting.model.reports.targets import Targets
from services.reporting.model.snapshots import AttachmentSnapshot, BuildSnapshot

BUILDS_SHOWN = 50
BUILD_FIELDS = ("runs", "passed", "failed", "infra_failed")
"""What is read of a build's counter; its days are as many as those on which it ran."""


@dataclass(frozen=True, slots=True)
class VerdictCount:
    """How many tests passed, or failed, on a build by their newest verdict there."""

    build_id: str
    passed: bool
    tests: int


@dataclass(frozen=True, slots=True)
class BuildHealth:
    """How one build does; failed_runs has those without a verdict too, which infra_failed_runs counts alone."""

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


@dataclass(frozen=True, slots=True)
class Workspace:
    """What reporting knows of an app's workspace view."""

    stats: AppStats
    trend: Sequence[TrendPoint]
    build_health: Sequence[BuildHealth]


def build_health(
    builds: Sequence[BuildSnapshot],
    fields: Fields,
    verdicts: Iterable[VerdictCount],
    *,
    attachments: Sequence[AttachmentSnapshot],
    targets: Targets,
) -> list[BuildHealth]:
    """One item for each build, in their order; `verdicts` are those of the attached tests on these builds."""
    observed = {(counted.build_id, counted.passed): counted.tests for counted in verdicts}
    targeted = Counter(build.build_id for build in map(targets.build, attachments) if build)
    found: list[BuildHealth] = []
    for build in builds:
        key = build.build_id
        runs = fields.get(counters.build(key), {})
        passed, failed = observed.get((key, True), 0), observed.get((key, False), 0)
        found.append(_health(build, runs, passed, failed, targeted=targeted[key]))
    return found


def _health(build: BuildSnapshot, runs: Mapping[str, int], passed: int, failed: int, *, targeted: int) -> BuildHealth:
    failed_runs = runs.get("failed", 0) + runs.get("infra_failed", 0)
    return BuildHealth(
        build=build,
        observed_tests=passed + failed,
        passed_tests=passed,
        failed_tests=failed,
        coverage_rate=min(1.0, (passed + failed) / targeted) if targeted else 0.0,
        exact_runs=runs.get("runs", 0),
        completed_runs=runs.get("passed", 0) + runs.get("failed", 0),
        passed_runs=runs.get("passed", 0),
        failed_runs=failed_runs,
        infra_failed_runs=runs.get("infra_failed", 0),
        pass_rate=pass_rate(runs.get("passed", 0), failed_runs),
    )
