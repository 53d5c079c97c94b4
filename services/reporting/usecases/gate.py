"""Computing the gates of executions and builds."""

import asyncio
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass

from services.chassis.context import time_remaining
from services.chassis.errors import FailedPrecondition, NotFound, Unavailable
from services.chassis.turns import in_turns, list_in_turns, pause, sorted_in_turns
from services.reporting.model import counters
from services.reporting.model.cells import MESSAGE_LENGTH
from services.reporting.model.reports.gate import BuildGate, ExecutionProgress, Gate, GateCounts, GateRun, decide_result
from services.reporting.model.reports.gate_sentences import BUILD, build_coverage, execution_coverage, gate_summary
from services.reporting.model.reports.matrix import row_order
from services.reporting.model.snapshots import AttachmentSnapshot, BuildSnapshot, Outcome, Status
from services.reporting.model.tables import Cell, LastRun
from services.reporting.model.variants import Subject, test_of, variant_of
from services.reporting.usecases.gate_reasons import GateReasons
from services.reporting.usecases.report_sources import KnownBuilds, Polls, ReportSources

# How much of the caller's deadline is left for computing the answer.
ANSWER_SECONDS = 1.0
RETRY_AFTER_SECONDS = 2.0
USUAL_BASE_BRANCH = "main"
EXPIRED = "Runs of this execution have expired, so its gate can no longer be computed"
RUNS_UNKNOWN = "Reporting has not received all runs of this execution yet; try again"
_STATUSES = {Outcome.INFRA_FAILED: Status.FAILED, Outcome.CANCELLED: Status.CANCELLED}
_RUN_COUNTS = ("runs", *(outcome.value for outcome in Outcome))


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
        summary = gate_summary(result, reasons, counts, request.base_branch, ended=ended)
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


@dataclass(frozen=True, slots=True)
class _TestedBuild:
    """A build, the names of the tests that its gate covers, their cells by variant, and those without a finished run,
    by name; `tests` are all tests with a finished run on it.
    """

    build: BuildSnapshot
    names: Mapping[str, str]
    judged: Mapping[Subject, Cell]
    not_run: Sequence[tuple[str, str]]
    tests: Set[str]
    pending: int


class BuildGates:
    """The gate of each build of the caller's organisation."""

    def __init__(self, sources: ReportSources) -> None:
        self._turns = sources.turns
        self._read = sources.read_models
        self._verdicts = sources.verdicts
        self._reasons = GateReasons(sources)
        self._builds = KnownBuilds(sources)

    async def of(self, build_id: str, base_branch: str, min_revision: int | None = None) -> BuildGate:
        """The gate of all attached tests by their newest verdict on the build; the errors of `KnownBuilds.get`."""
        build = await self._builds.get(build_id, min_revision)
        async with self._turns.take():
            return await self._of(build, base_branch)

    async def _of(self, build: BuildSnapshot, base_branch: str) -> BuildGate:
        tested = await self._tested(build)
        failing, with_verdict = set[str](), set[str]()
        async for subject, cell in in_turns(tested.judged.items()):
            if not _passed(cell):
                failing.add(test_of(subject))
            if cell.verdict is not None:
                with_verdict.add(test_of(subject))
        passed = len((tested.tests & tested.names.keys()) - failing)
        runs = await self._not_passed(tested)
        storms = await self._verdicts.storms({run.execution_id for run in runs if run.failed})
        reasons = await self._reasons.of(runs, base_branch, storms)
        counts = GateCounts(len(tested.names), passed, tested.pending)
        result = decide_result(counts, [reason.rule for reason in reasons])
        ended = await list_in_turns(run for cell in tested.judged.values() if (run := _deciding(cell)))
        missing = [name for _, name in tested.not_run]
        await pause()
        return BuildGate(
            build,
            result,
            gate_summary(result, reasons, counts, base_branch, BUILD, missing, ended=ended),
            build_coverage(build.version, len(with_verdict), counts.total, len(tested.tests - tested.names.keys())),
            base_branch,
            reasons,
            tested.not_run,
            counts,
            storm=bool(storms),
        )

    async def _tested(self, build: BuildSnapshot) -> _TestedBuild:
        counter = counters.build(build.build_id)
        attachments, tested, fields = await asyncio.gather(
            self._read.attachments(build.app_id),
            self._read.cells_of_builds(build.app_id, [build.build_id]),
            self._read.counters([counter], _RUN_COUNTS),
        )
        cells = {subject: cell async for (_, subject, _), cell in in_turns(tested.items()) if cell.last_run is not None}
        ran = set(await list_in_turns(map(test_of, cells)))
        tests = await self._read.tests_by_id({attachment.test_id for attachment in attachments} | ran)
        deleted = {test_id for test_id, test in tests.items() if test.deleted}
        covered = await list_in_turns(
            one for one in attachments if one.test_id not in deleted and _covers(one, build, ran)
        )
        names = {one.test_id: tests[one.test_id].name if one.test_id in tests else one.test_name for one in covered}
        judged = {subject: cell async for subject, cell in in_turns(cells.items()) if test_of(subject) in names}
        missing = [(test_id, name) for test_id, name in names.items() if test_id not in ran]
        not_run = await sorted_in_turns(missing, key=row_order)
        return _TestedBuild(build, names, judged, not_run, ran - deleted, _pending(fields.get(counter, {})))

    async def _not_passed(self, tested: _TestedBuild) -> Sequence[GateRun]:
        """The runs that decide about the tests that did not pass, one for each variant."""
        deciding = {
            subject: (cell, run)
            async for subject, cell in in_turns(tested.judged.items())
            if not _passed(cell) and (run := _deciding(cell))
        }
        stored = {run.run_id: run for run in await self._verdicts.runs([run.run_id for _, run in deciding.values()])}
        return await list_in_turns(
            known
            if (known := stored.get(run.run_id)) is not None and not known.expired
            else _run_of_cell(tested.build, subject, cell, run)
            for subject, (cell, run) in deciding.items()
        )


def _covers(attachment: AttachmentSnapshot, build: BuildSnapshot, ran: Collection[str]) -> bool:
    """Whether the test is meant for the build, or ran on it nevertheless."""
    return attachment.pinned_version in (None, build.version) or attachment.test_id in ran


def _deciding(cell: Cell) -> LastRun | None:
    """The run that the test is judged by."""
    return cell.verdict or cell.last_run


def _passed(cell: Cell) -> bool:
    return cell.verdict is not None and cell.verdict.outcome is Outcome.PASSED


def _pending(runs: Mapping[str, int]) -> int:
    """How many runs on the build have not ended, from the counter of the build."""
    return max(0, runs.get("runs", 0) - sum(runs.get(outcome.value, 0) for outcome in Outcome))


def _run_of_cell(build: BuildSnapshot, subject: Subject, cell: Cell, run: LastRun) -> GateRun:
    """A run that has expired, as far as its cell remembers it."""
    named = cell.named_verdict if cell.named_verdict and cell.named_verdict.run_id == run.run_id else None
    failure = cell.groups[0] if cell.groups and run.outcome is not Outcome.CANCELLED else None
    return GateRun(
        run_id=run.run_id,
        execution_id=run.execution_id,
        test_id=test_of(subject),
        test_name=cell.test_name,
        app_id=build.app_id,
        build_id=build.build_id,
        build_version=build.version,
        status=_STATUSES.get(run.outcome, Status.COMPLETED),
        success=False,
        ended_at=run.ended_at,
        branch=named.branch if named else None,
        commit_sha=named.commit_sha if named else None,
        category=failure.category if failure else None,
        failure_reason=failure.reason if failure else None,
        expired=True,
        variant=variant_of(subject),
        failure_message=failure.sample_message[:MESSAGE_LENGTH] if failure else None,
        fingerprint=failure.fingerprint if failure else None,
    )
