"""Computing the gate of a build."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from services.chassis.clock import Clock
from services.reporting.model import counters
from services.reporting.model.reports.gate import BuildGate, GateCounts, GateRun, decide_result
from services.reporting.model.reports.gate_sentences import BUILD, build_coverage, gate_summary
from services.reporting.model.snapshots import AttachmentSnapshot, BuildSnapshot, Outcome, Status
from services.reporting.model.tables import Cell, LastRun
from services.reporting.model.variants import Subject, test_of, variant_of
from services.reporting.ports import ReadModels, Verdicts
from services.reporting.usecases.gate_reasons import GateReasons
from services.reporting.usecases.known_builds import KnownBuilds
from services.reporting.usecases.poll import REVISION_WAIT_SECONDS
from services.reporting.usecases.report_turns import ReportTurns

_STATUSES = {Outcome.INFRA_FAILED: Status.FAILED, Outcome.CANCELLED: Status.CANCELLED}
_RUN_COUNTS = ("runs", *(outcome.value for outcome in Outcome))


@dataclass(frozen=True, slots=True)
class _TestedBuild:
    """A build, the names of the tests that its gate covers, and the cells of all tests with a finished run on it, by
    their variants.
    """

    build: BuildSnapshot
    names: Mapping[str, str]
    cells: Mapping[Subject, Cell]
    pending: int

    @property
    def tests(self) -> set[str]:
        """The tests with a finished run on the build."""
        return set(map(test_of, self.cells))

    @property
    def not_run(self) -> list[tuple[str, str]]:
        """The tests without a finished run, by name."""
        ran = self.tests
        missing = [(test_id, name) for test_id, name in self.names.items() if test_id not in ran]
        return sorted(missing, key=lambda test: (test[1].casefold(), test[0]))

    @property
    def judged(self) -> dict[Subject, Cell]:
        """The cells of the tests that the gate covers."""
        return {subject: cell for subject, cell in self.cells.items() if test_of(subject) in self.names}


class BuildGates:
    """The gate of each build of the caller's organisation."""

    def __init__(
        self,
        read_models: ReadModels,
        verdicts: Verdicts,
        clock: Clock,
        *,
        turns: ReportTurns,
        revision_wait: float = REVISION_WAIT_SECONDS,
    ) -> None:
        self._turns = turns
        self._read = read_models
        self._verdicts = verdicts
        self._reasons = GateReasons(read_models, verdicts, clock)
        self._builds = KnownBuilds(read_models, turns, revision_wait=revision_wait)

    async def of(self, build_id: str, base_branch: str, min_revision: int | None = None) -> BuildGate:
        """The gate of all attached tests by their newest verdict on the build; the errors of `KnownBuilds.get`."""
        build = await self._builds.get(build_id, min_revision)
        async with self._turns.take():
            return await self._of(build, base_branch)

    async def _of(self, build: BuildSnapshot, base_branch: str) -> BuildGate:
        tested = await self._tested(build)
        failing = {test_of(subject) for subject, cell in tested.judged.items() if not _passed(cell)}
        passed = len(set(map(test_of, tested.judged)) - failing)
        runs = await self._not_passed(tested)
        storms = await self._verdicts.storms({run.execution_id for run in runs if run.failed})
        reasons = await self._reasons.of(runs, base_branch, storms)
        counts, not_run = GateCounts(len(tested.names), passed, tested.pending), tested.not_run
        result = decide_result(counts, [reason.rule for reason in reasons])
        judged = len({test_of(subject) for subject, cell in tested.judged.items() if cell.verdict is not None})
        others = len(tested.tests - tested.names.keys())
        return BuildGate(
            tested.build,
            result,
            gate_summary(
                result,
                reasons,
                counts,
                base_branch,
                BUILD,
                [name for _, name in not_run],
                simulations=[run.simulation for cell in tested.judged.values() if (run := _deciding(cell))],
            ),
            build_coverage(tested.build.version, judged, counts.total, others),
            base_branch,
            reasons,
            not_run,
            counts,
            storm=bool(storms),
        )

    async def _tested(self, build: BuildSnapshot) -> _TestedBuild:
        counter = counters.build(build.build_id)
        attachments, found, fields = await asyncio.gather(
            self._read.attachments(build.app_id),
            self._read.cells_of_builds(build.app_id, [build.build_id]),
            self._read.counters([counter], _RUN_COUNTS),
        )
        cells = {subject: cell for (_, subject, _), cell in found.items() if cell.last_run is not None}
        ran = set(map(test_of, cells))
        tests = await self._read.tests_by_id({attachment.test_id for attachment in attachments} | ran)
        deleted = {test_id for test_id, test in tests.items() if test.deleted}
        covered = [one for one in attachments if one.test_id not in deleted and _covers(one, build, ran)]
        names = {one.test_id: tests[one.test_id].name if one.test_id in tests else one.test_name for one in covered}
        kept = {subject: cell for subject, cell in cells.items() if test_of(subject) not in deleted}
        return _TestedBuild(build, names, kept, _pending(fields.get(counter, {})))

    async def _not_passed(self, tested: _TestedBuild) -> Sequence[GateRun]:
        """The runs that decide about the tests that did not pass, one for each variant."""
        deciding = {
            subject: (cell, run)
            for subject, cell in tested.judged.items()
            if not _passed(cell) and (run := _deciding(cell))
        }
        stored = {run.run_id: run for run in await self._verdicts.runs([run.run_id for _, run in deciding.values()])}
        return [
            known
            if (known := stored.get(run.run_id)) is not None and not known.expired
            else _run_of_cell(tested.build, subject, cell, run)
            for subject, (cell, run) in deciding.items()
        ]


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
    )
