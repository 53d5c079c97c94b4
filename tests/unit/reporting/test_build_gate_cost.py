"""What the gate of a build costs grows with its tests, not with their square."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from time import thread_time
from typing import Any

from services.chassis.context import Caller, bind
from services.reporting.model.reports.gate import GateResult
from services.reporting.model.snapshots import AttachmentSnapshot, BuildSnapshot, Outcome
from services.reporting.model.tables import Cell, FailureKey, LastRun
from services.reporting.model.triages import TriageSnapshot
from services.reporting.usecases.gate import BuildGates
from services.reporting.usecases.report_sources import ReportSources
from tests.fakes.chassis import FakeClock

AT = datetime(2026, 11, 28, tzinfo=UTC)
BUILD = BuildSnapshot("build", "org-1", 1, False, "app", "1.0", AT)
PASSED = LastRun(AT, "run", "execution", Outcome.PASSED, 1.0)


class FakeReadModels:
    """So many attached tests that passed on one build."""

    def __init__(self, tests: int) -> None:
        self._tests = [f"test-{number}" for number in range(tests)]

    async def builds_by_id(self, _: Collection[str]) -> Mapping[str, BuildSnapshot]:
        return {BUILD.build_id: BUILD}

    async def attachments(self, app_id: str) -> list[AttachmentSnapshot]:
        return [AttachmentSnapshot(app_id, test, "org-1", 1, True, None, test) for test in self._tests]

    async def cells_of_builds(self, app_id: str, _: Collection[str]) -> Mapping[Any, Cell]:
        cell = Cell("org-1", AT, last_run=PASSED, verdict=PASSED)
        return {(app_id, test, BUILD.build_id): cell for test in self._tests}

    async def counters(self, *_: Any) -> Mapping[str, Any]:
        return {}

    async def apps_by_id(self, _: Collection[str]) -> Mapping[str, Any]:
        return {}

    async def tests_by_id(self, _: Collection[str]) -> Mapping[str, Any]:
        return {}


class FakeFailures:
    async def triages(self, keys: Collection[FailureKey]) -> Mapping[FailureKey, TriageSnapshot]:
        return {}


class FakeVerdicts:
    """There are no runs to look up."""

    async def storms(self, _: Collection[str]) -> Collection[str]:
        return ()

    async def runs(self, _: Collection[str]) -> Collection[Any]:
        return ()


async def cost(tests: int) -> float:
    """CPU seconds, the least of three."""
    sources: Any = ReportSources
    times = []
    for _ in range(3):
        gate = BuildGates(sources(FakeReadModels(tests), None, FakeVerdicts(), FakeFailures(), FakeClock(AT)))
        began = thread_time()
        with bind(Caller("org-1")):
            verdict = await gate.of("build", "main")
        times.append(thread_time() - began)
        assert (verdict.result, verdict.counts.passed, verdict.not_run) == (GateResult.PASS, tests, [])
    return min(times)


async def test_four_times_the_tests_cost_about_four_times_as_much() -> None:
    assert await cost(4_000) < 9 * await cost(1_000)
