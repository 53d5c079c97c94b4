"""Computing the gate of an execution."""

from dataclasses import dataclass

from services.chassis.context import time_remaining
from services.chassis.errors import FailedPrecondition, NotFound, Unavailable
from services.chassis.turns import pause
from services.reporting.model.reports.gate import ExecutionProgress, Gate, GateCounts, decide_result
from services.reporting.model.reports.gate_sentences import execution_coverage, gate_summary
from services.reporting.usecases.gate_reasons import GateReasons
from services.reporting.usecases.report_sources import Polls, ReportSources

# How much of the caller's deadline is left for computing the answer.
ANSWER_SECONDS = 1.0
RETRY_AFTER_SECONDS = 2.0
USUAL_BASE_BRANCH = "main"
EXPIRED = "Runs of this execution have expired, so its gate can no longer be computed"
RUNS_UNKNOWN = "Reporting has not received all runs of this execution yet; try again"


@dataclass(frozen=True, slots=True)
class GateRequest:
    """The execution, the branch to compare with, and how many of its runs ended and exist, if the caller knows that."""

    execution_id: str
    base_branch: str
    min_ended: int | None = None
    total: int | None = None


class Gates:
    """The gate of each execution of the caller's organisation."""

    def __init__(self, sources: ReportSources) -> None:
        self._turns = sources.turns
        self._polls = Polls(sources.verdicts.progress, sources.turns)
        self._verdicts = sources.verdicts
        self._reasons = GateReasons(sources)
        self._ended_wait = sources.ended_wait

    async def of(self, request: GateRequest) -> Gate:
        """The gate, which waits (bounded) for the ended runs that the caller knows of.

        Raises:
            NotFound: no such execution.
            FailedPrecondition: its runs expired.
            Unavailable: some runs are not known yet.
        """
        progress, total = await self._progress(request)
        async with self._turns.take():
            return await self._of(request, progress, total)

    async def _of(self, request: GateRequest, progress: ExecutionProgress, total: int) -> Gate:
        runs = await self._verdicts.runs_of_execution(request.execution_id)
        if any(run.expired for run in runs):
            raise FailedPrecondition(EXPIRED, reason="RUNS_EXPIRED")
        await pause()
        ended = [run for run in runs if run.status.terminal]
        storms = {request.execution_id} if progress.storm else set()
        reasons = await self._reasons.of([run for run in ended if not run.passed], request.base_branch, storms)
        counts = GateCounts(total, sum(run.passed for run in ended), max(0, total - len(ended)))
        result = decide_result(counts, [reason.rule for reason in reasons])
        await pause()
        simulations = [run.simulation for run in ended]
        summary = gate_summary(result, reasons, counts, request.base_branch, simulations=simulations)
        await pause()
        return Gate(
            request.execution_id,
            result,
            summary,
            execution_coverage(runs, total),
            request.base_branch,
            next((run.branch for run in runs if run.branch), None),
            reasons,
            counts,
            storm=bool(storms),
        )

    async def _progress(self, request: GateRequest) -> tuple[ExecutionProgress, int]:
        """The progress of the execution, and how many runs it has."""
        execution_progress = await self._polls.until(
            request.execution_id,
            lambda progress: (progress.finished if progress else 0) >= (request.min_ended or 0),
            self._wait_seconds(),
        )
        if execution_progress is None and request.min_ended is None:
            raise NotFound("Execution not found")
        progress = execution_progress or ExecutionProgress(None, 0, None)
        total = request.total if request.total is not None else progress.total
        if total is None or progress.finished < (request.min_ended or 0):
            raise Unavailable(RUNS_UNKNOWN, retry_after=RETRY_AFTER_SECONDS)
        return progress, total

    def _wait_seconds(self) -> float:
        """How long to wait: channels retry calls, and the last retry, too, must be answered before the deadline."""
        left = time_remaining()
        return self._ended_wait if left is None else max(0.0, min(self._ended_wait, left - ANSWER_SECONDS))
