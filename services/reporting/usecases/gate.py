"""Computing the gate of an execution."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from services.chassis.clock import Clock
from services.chassis.context import time_remaining
from services.chassis.errors import FailedPrecondition, NotFound, Unavailable
from services.chassis.turns import in_turns
from services.reporting.model.flaky import UNKNOWN_ASSESSMENT, Assessment, Classification
from services.reporting.model.reports.breakage import (
    BaseBranchStatus,
    Breakage,
    BuildVerdict,
    branch_scopes,
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
from services.reporting.model.reports.matrix import evidence_builds
from services.reporting.model.snapshots import Outcome, Quarantine, TestSnapshot, active_quarantines
from services.reporting.model.tables import CellKey, LastRun, SourceRevision
from services.reporting.ports import ReadModels, Verdicts
from services.reporting.usecases.breakages import BaseBranch, Breakages
from services.reporting.usecases.poll import poll_until

ENDED_WAIT_SECONDS = 5.0
ANSWER_SECONDS = 1.0
"""How much of the caller's deadline is left for computing the answer."""
RETRY_AFTER_SECONDS = 2.0
RUNS_AT_ONCE = 2_500
"""Failed runs that are looked up together."""
EXPIRED = "Runs of this execution have expired, so its gate can no longer be computed"
RUNS_UNKNOWN = "Reporting has not received all runs of this execution yet; try again"


@dataclass(frozen=True, slots=True)
class GateRequest:
    """The execution, the branch to compare with, and how many of its runs ended and exist, if the caller knows that."""

    execution_id: str
    base_branch: str
    min_ended: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class _GateInputs:
    """What was looked up: by test, by (app, test) and by cell; versions by build."""

    tests: Mapping[str, TestSnapshot]
    quarantines: Mapping[str, Quarantine]
    assessments: Mapping[tuple[str, str], Assessment]
    on_base: Mapping[CellKey, BaseBranchStatus]
    breakages: Mapping[CellKey, Breakage]
    versions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Scope:
    """The branch of the execution, the branch to compare with, and whether failures in storms count."""

    own: str | None
    base: str
    storms: bool


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

    async def of(self, request: GateRequest) -> Gate:
        """The gate, which waits (bounded) for the ended runs that the caller knows of.

        NotFound: no such execution. FailedPrecondition: its runs expired. Unavailable: some runs are not known yet.
        """
        progress, total = await self._progress(request)
        runs = await self._verdicts.runs_of_execution(request.execution_id)
        if any(run.expired for run in runs):
            raise FailedPrecondition(EXPIRED, reason="RUNS_EXPIRED")
        ended = [run for run in runs if run.status.terminal]
        reasons = await self._reasons([run for run in ended if not run.passed], request.base_branch, progress)
        counts = {"total": total, "passed": sum(run.passed for run in ended), "pending": max(0, total - len(ended))}
        result = decide_result(total, counts["pending"], [reason.rule for reason in reasons])
        summary = gate_summary(result, reasons, base=request.base_branch, **counts)
        return Gate(
            request.execution_id, result, summary, request.base_branch, reasons, storm=progress.storm is True, **counts
        )

    async def _progress(self, request: GateRequest) -> tuple[ExecutionProgress, int]:
        """The progress of the execution, and how many runs it has."""
        found = await poll_until(
            lambda progress: (progress.finished if progress else 0) >= (request.min_ended or 0),
            lambda: self._verdicts.progress(request.execution_id),
            self._wait_seconds(),
        )
        if found is None and request.min_ended is None:
            raise NotFound("Execution not found")
        progress = found or ExecutionProgress(None, 0, None)
        total = request.total if request.total is not None else progress.total
        if total is None or progress.finished < (request.min_ended or 0):
            raise Unavailable(RUNS_UNKNOWN, retry_after=RETRY_AFTER_SECONDS)
        return progress, total

    def _wait_seconds(self) -> float:
        """How long to wait: channels retry calls, and the last retry, too, must be answered before the deadline."""
        left = time_remaining()
        return self._ended_wait if left is None else max(0.0, min(self._ended_wait, left - ANSWER_SECONDS))

    async def _reasons(self, runs: Sequence[GateRun], base: str, progress: ExecutionProgress) -> list[GateReason]:
        """In parts, so that MongoDB searches for one while others are decoded."""
        own = next((run.branch for run in runs if run.branch), None)
        scope = _Scope(own, base, storms=progress.storm is True)
        parts = [runs[start : start + RUNS_AT_ONCE] for start in range(0, len(runs), RUNS_AT_ONCE)]
        found = await asyncio.gather(*(self._reasons_of(part, scope) for part in parts))
        reasons = sort_reasons(list(chain.from_iterable(found)))
        await asyncio.sleep(0)  # sorting thousands takes a while, and so does counting them
        return reasons

    async def _reasons_of(self, runs: Sequence[GateRun], scope: _Scope) -> list[GateReason]:
        inputs = await self._look_up(runs, scope)
        return [self._reason(run, scope.base, inputs) async for run in in_turns(runs)]

    def _reason(self, run: GateRun, base: str, inputs: _GateInputs) -> GateReason:
        test, cell = inputs.tests.get(run.test_id), _cell(run)
        context = FailureContext(
            assessment=inputs.assessments.get((run.app_id or "", run.test_id), UNKNOWN_ASSESSMENT),
            quarantine=inputs.quarantines.get(run.test_id),
            on_base=inputs.on_base.get(cell) if cell else None,
            breakage=inputs.breakages.get(cell) if cell and run.failed else None,
        )
        version = inputs.versions.get(run.build_id or "", run.build_version)
        name = test.name if test else run.test_name
        same = (name, version) == (run.test_name, run.build_version)
        current = run if same else replace(run, test_name=name, build_version=version)
        rule = decide_rule(run, context)
        detail = reason_detail(current, rule, context, base, inputs.versions)
        return GateReason(current, rule, detail, context.breakage, context.quarantine)

    async def _look_up(self, runs: Sequence[GateRun], scope: _Scope) -> _GateInputs:
        tests, assessments, (on_base, breakages) = await asyncio.gather(
            self._read.tests_by_id({run.test_id for run in runs}),
            self._assessments(runs),
            self._on_other_builds(runs, scope),
        )
        builds = {run.build_id for run in runs if run.build_id}.union(
            *(status.build_ids for status in on_base.values())
        )
        copies = await self._read.builds_by_id(builds | evidence_builds(assessments.values()))
        versions = {build_id: build.version for build_id, build in copies.items()}
        quarantines = active_quarantines({id_: test.quarantine for id_, test in tests.items()}, self._clock.now())
        return _GateInputs(tests, quarantines, assessments, on_base, breakages, versions)

    async def _on_other_builds(
        self, runs: Sequence[GateRun], scope: _Scope
    ) -> tuple[Mapping[CellKey, BaseBranchStatus], Mapping[CellKey, Breakage]]:
        failing = await self._failing(runs)
        return await asyncio.gather(
            self._base_branch.of(failing, scope.own, scope.base, storms=scope.storms),
            self._breakages.of(failing.values(), branch_scopes(scope.own, scope.base), storms=scope.storms),
        )

    async def _failing(self, runs: Sequence[GateRun]) -> dict[CellKey, BuildVerdict]:
        """The verdicts of the failed runs. Their cells, which may have newer ones, know when the build was uploaded."""
        failed = {cell: run for run in runs if run.failed and (cell := _cell(run))}
        found = await self._verdicts.of_cells(failed.keys())
        return {key: _verdict(failed[key], newest) async for key, newest in in_turns(found.items())}

    async def _assessments(self, runs: Sequence[GateRun]) -> dict[tuple[str, str], Assessment]:
        """By app and test, of the flaky tests: the gate does not tell the other classes apart."""
        by_app: dict[str, set[str]] = {}
        for run in runs:
            if run.app_id:
                by_app.setdefault(run.app_id, set()).add(run.test_id)
        flaky = Classification.FLAKY
        found = await asyncio.gather(*(self._read.assessments(app_id, some, flaky) for app_id, some in by_app.items()))
        pairs = zip(by_app, found, strict=True)
        return {(app_id, test_id): assessment for app_id, tests in pairs for test_id, assessment in tests.items()}


def _cell(run: GateRun) -> CellKey | None:
    return (run.app_id, run.test_id, run.build_id) if run.app_id and run.build_id else None


def _verdict(run: GateRun, newest: BuildVerdict) -> BuildVerdict:
    """The run's own verdict; `newest` is that of its cell."""
    known = newest.verdict
    own = LastRun(run.ended_at or known.ended_at, run.run_id, known.execution_id, Outcome.FAILED, known.seconds)
    named = _revision(run, newest)
    return BuildVerdict(newest.key, newest.uploaded_at, own, named, newest.passed, newest.failed)


def _revision(run: GateRun, found: BuildVerdict) -> SourceRevision | None:
    """That of the run itself, or of its build for a run that was started by hand."""
    if run.branch is None and run.commit_sha is None:
        return found.source_revision
    return SourceRevision(run.ended_at or found.verdict.ended_at, run.run_id, run.branch, run.commit_sha)
