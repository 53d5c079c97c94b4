"""Whether CI may go on after an execution."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from services.chassis.clock import Clock
from services.chassis.context import time_remaining
from services.chassis.errors import FailedPrecondition, NotFound, Unavailable
from services.reporting.model.flaky import Assessment
from services.reporting.model.quarantine import active_quarantine
from services.reporting.model.reports.breakage import (
    BaseBranchStatus,
    Breakage,
    BuildVerdict,
    branch_scopes,
    build_verdict,
)
from services.reporting.model.reports.gate import (
    ExecutionProgress,
    FailureContext,
    Gate,
    GateReason,
    GateRun,
    decide_result,
    decide_rule,
    sort_reasons,
)
from services.reporting.model.reports.gate_sentences import gate_summary, reason_detail
from services.reporting.model.reports.matrix import UNKNOWN_ASSESSMENT, evidence_builds
from services.reporting.model.snapshots import Outcome, TestSnapshot
from services.reporting.model.tables import CellKey, LastRun, SourceRevision
from services.reporting.ports import ReadModels, Verdicts
from services.reporting.usecases.breakages import BaseBranch, Breakages
from services.reporting.usecases.poll import poll_until

ENDED_WAIT_SECONDS = 5.0
ANSWER_SECONDS = 1.0
"""What is left for the answer itself of the time that a caller gave."""
RETRY_AFTER_SECONDS = 2.0
EXPIRED = "The runs of this execution are no longer kept, so it cannot be said how they ended"
RUNS_UNKNOWN = "Reporting has not heard of all runs of this execution yet; try again"


@dataclass(frozen=True, slots=True)
class GateRequest:
    """Of which execution, against which branch. The caller may know how many of its runs ended, and how many it has."""

    execution_id: str
    base_branch: str
    ended: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class _GateInputs:
    """What was looked up, by test, by (app, test), and by cell."""

    tests: Mapping[str, TestSnapshot]
    assessments: Mapping[tuple[str, str], Assessment]
    on_base: Mapping[CellKey, BaseBranchStatus]
    breakages: Mapping[CellKey, Breakage]
    versions: Mapping[str, str]


class Gates:
    """The gate of each execution of the caller's organisation."""

    def __init__(
        self, read_models: ReadModels, verdicts: Verdicts, clock: Clock, *, ended_wait: float = ENDED_WAIT_SECONDS
    ) -> None:
        self._read = read_models
        self._verdicts = verdicts
        self._breakages = Breakages(read_models, verdicts)
        self._base_branch = BaseBranch(verdicts)
        self._clock = clock
        self._ended_wait = ended_wait

    async def of(self, asked: GateRequest) -> Gate:
        """What the gate says. It waits (bounded) for the ended runs that the caller knows of.

        NotFound: no such execution. FailedPrecondition: its runs expired. Unavailable: not all were heard of yet.
        """
        progress, total = await self._progress(asked)
        runs = await self._verdicts.runs_of_execution(asked.execution_id)
        if any(run.expired for run in runs):
            raise FailedPrecondition(EXPIRED, reason="RUNS_EXPIRED")
        ended = [run for run in runs if run.status.terminal]
        reasons = await self._reasons([run for run in ended if not run.passed], asked.base_branch, progress)
        counts = {"total": total, "passed": sum(run.passed for run in ended), "pending": max(0, total - len(ended))}
        result = decide_result(total, counts["pending"], [reason.rule for reason in reasons])
        said = gate_summary(result, reasons, base=asked.base_branch, **counts)
        return Gate(
            asked.execution_id, result, said, asked.base_branch, reasons, storm=progress.storm is True, **counts
        )

    async def _progress(self, asked: GateRequest) -> tuple[ExecutionProgress, int]:
        """How far the execution is, and how many runs it has."""
        found = await poll_until(
            lambda known: (known.finished if known else 0) >= (asked.ended or 0),
            lambda: self._verdicts.progress(asked.execution_id),
            self._patience(),
        )
        if found is None and asked.ended is None:
            raise NotFound("Execution not found")
        progress = found or ExecutionProgress(None, 0, None)
        total = asked.total if asked.total is not None else progress.total
        if total is None or progress.finished < (asked.ended or 0):
            raise Unavailable(RUNS_UNKNOWN, retry_after=RETRY_AFTER_SECONDS)
        return progress, total

    def _patience(self) -> float:
        """How long to wait, in seconds: channels repeat calls, and the last one, too, has to be answered in time."""
        left = time_remaining()
        return self._ended_wait if left is None else max(0.0, min(self._ended_wait, left - ANSWER_SECONDS))

    async def _reasons(self, runs: Sequence[GateRun], base: str, progress: ExecutionProgress) -> list[GateReason]:
        known = await self._known(runs, base, storms=progress.storm is True)
        return sort_reasons([self._reason(run, base, known) for run in runs])

    def _reason(self, run: GateRun, base: str, known: _GateInputs) -> GateReason:
        test, cell = known.tests.get(run.test_id), _cell(run)
        evidence = FailureContext(
            assessment=known.assessments.get((run.app_id or "", run.test_id), UNKNOWN_ASSESSMENT),
            quarantine=active_quarantine(test.quarantine, self._clock.now()) if test else None,
            on_base=known.on_base.get(cell) if cell else None,
            breakage=known.breakages.get(cell) if cell and run.failed else None,
        )
        version = known.versions.get(run.build_id or "", run.build_version)
        named = replace(run, test_name=test.name if test else run.test_name, build_version=version)
        rule = decide_rule(run, evidence)
        said = reason_detail(named, rule, evidence, base, known.versions)
        return GateReason(named, rule, said, evidence.breakage, evidence.quarantine)

    async def _known(self, runs: Sequence[GateRun], base: str, *, storms: bool) -> _GateInputs:
        own = next((run.branch for run in runs if run.branch), None)
        failing = await self._failing(runs)
        tests, assessments, on_base, breakages = await asyncio.gather(
            self._read.tests_by_id({run.test_id for run in runs}),
            self._assessments(runs),
            self._base_branch.of(failing, own, base, storms=storms),
            self._breakages.of(failing.values(), branch_scopes(own, base), storms=storms),
        )
        builds = {run.build_id for run in runs if run.build_id}.union(*(seen.build_ids for seen in on_base.values()))
        copies = await self._read.builds_by_id(builds | evidence_builds(assessments.values()))
        versions = {build_id: build.version for build_id, build in copies.items()}
        return _GateInputs(tests, assessments, on_base, breakages, versions)

    async def _failing(self, runs: Sequence[GateRun]) -> dict[CellKey, BuildVerdict]:
        """The verdicts of those that failed. Their cells may have newer ones; when the build was uploaded they know."""
        failed = {cell: run for run in runs if run.failed and (cell := _cell(run))}
        cells = await self._read.cells(failed.keys())
        return {
            key: replace(seen, verdict=_verdict(failed[key], seen.verdict), named=_named(failed[key], seen))
            for key, cell in cells.items()
            if (seen := build_verdict(key, cell))
        }

    async def _assessments(self, runs: Sequence[GateRun]) -> dict[tuple[str, str], Assessment]:
        """By app and test."""
        by_app: dict[str, set[str]] = {}
        for run in runs:
            if run.app_id:
                by_app.setdefault(run.app_id, set()).add(run.test_id)
        found = await asyncio.gather(*(self._read.assessments(app_id, tests) for app_id, tests in by_app.items()))
        pairs = zip(by_app, found, strict=True)
        return {(app_id, test_id): known for app_id, tests in pairs for test_id, known in tests.items()}


def _cell(run: GateRun) -> CellKey | None:
    return (run.app_id, run.test_id, run.build_id) if run.app_id and run.build_id else None


def _verdict(run: GateRun, newest: LastRun) -> LastRun:
    """The run's own verdict; `newest` is that of its cell."""
    return replace(newest, run_id=run.run_id, outcome=Outcome.FAILED, ended_at=run.ended_at or newest.ended_at)


def _named(run: GateRun, seen: BuildVerdict) -> SourceRevision | None:
    """What CI named for the run itself; of one that was started by hand, for its build."""
    if run.branch is None and run.commit_sha is None:
        return seen.named
    return SourceRevision(run.ended_at or seen.verdict.ended_at, run.run_id, run.branch, run.commit_sha)
