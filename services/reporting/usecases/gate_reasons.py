"""The reasons of a gate: why each run that did not pass blocks or does not."""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from services.chassis.turns import in_turns, list_in_turns, sorted_in_turns
from services.reporting.model.flaky import UNKNOWN_ASSESSMENT, Assessment, Classification
from services.reporting.model.reports.breakage import (
    NOTHING_ON_BASE,
    BaseBranchStatus,
    Breakage,
    BuildVerdict,
    branch_scopes,
)
from services.reporting.model.reports.gate import FailureContext, GateReason, GateRun, decide_rule, reason_order
from services.reporting.model.reports.gate_sentences import reason_detail, triage_sentence
from services.reporting.model.reports.matrix import evidence_builds, with_label
from services.reporting.model.snapshots import Outcome, Quarantine, TestSnapshot, active_quarantines
from services.reporting.model.sources import SourceRevision
from services.reporting.model.tables import EPOCH, CellKey, FailureKey, HistoryKey, LastRun
from services.reporting.model.triages import TriageSnapshot
from services.reporting.model.variants import KnownVariants, Subject
from services.reporting.usecases.breakages import BaseBranch, Breakages
from services.reporting.usecases.report_sources import ReportSources

# Failed runs that are looked up together.
RUNS_AT_ONCE = 2_500


@dataclass(frozen=True, slots=True)
class _GateInputs:
    """What was looked up: by test, by history and by cell; versions by build, variants by app."""

    tests: Mapping[str, TestSnapshot]
    quarantines: Mapping[str, Quarantine]
    assessments: Mapping[HistoryKey, Assessment]
    on_base: Mapping[CellKey, BaseBranchStatus]
    breakages: Mapping[CellKey, Breakage]
    versions: Mapping[str, str]
    variants: Mapping[str, KnownVariants]
    triages: Mapping[FailureKey, TriageSnapshot]

    def triage(self, run: GateRun) -> TriageSnapshot | None:
        """What people wrote about the failure of the run."""
        return self.triages.get((run.app_id, run.fingerprint)) if run.app_id and run.fingerprint else None

    def label(self, run: GateRun) -> str:
        """What tells the variant of the run from the others of its test."""
        known = self.variants.get(run.app_id or "")
        return known.label(run.subject) if known else ""


@dataclass(frozen=True, slots=True)
class _Scope:
    """The branch of the runs (None: not known), the branch to compare with, and whether failures in storms count."""

    own: str | None
    base: str
    storms: bool


class GateReasons:
    """Finds the reasons of runs that did not pass, in a few lookups for any number of runs."""

    def __init__(self, sources: ReportSources) -> None:
        self._read = sources.read_models
        self._verdicts = sources.verdicts
        self._failures = sources.failures
        self._breakages = Breakages(sources.read_models, sources.verdicts)
        self._base_branch = BaseBranch(sources.verdicts)
        self._clock = sources.clock

    async def of(self, runs: Sequence[GateRun], base: str, storms: Collection[str]) -> list[GateReason]:
        """The sorted reasons; `storms` are the executions of these runs that were infrastructure storms.

        In parts, so that MongoDB searches for one while others are decoded.
        """
        scopes: defaultdict[_Scope, list[GateRun]] = defaultdict(list)
        async for run in in_turns(runs):
            scopes[_Scope(run.branch, base, run.execution_id in storms)].append(run)
        parts = [
            (scope, some[start : start + RUNS_AT_ONCE])
            for scope, some in scopes.items()
            for start in range(0, len(some), RUNS_AT_ONCE)
        ]
        reasons = await asyncio.gather(*(self._reasons_of(part, scope) for scope, part in parts))
        return await sorted_in_turns(chain.from_iterable(reasons), key=reason_order)

    async def _reasons_of(self, runs: Sequence[GateRun], scope: _Scope) -> list[GateReason]:
        inputs = await self._look_up(runs, scope)
        return await list_in_turns(self._reason(run, scope.base, inputs) for run in runs)

    def _reason(self, run: GateRun, base: str, inputs: _GateInputs) -> GateReason:
        test, cell, history = inputs.tests.get(run.test_id), run.cell, run.history
        context = FailureContext(
            assessment=inputs.assessments.get(history, UNKNOWN_ASSESSMENT) if history else UNKNOWN_ASSESSMENT,
            quarantine=inputs.quarantines.get(run.test_id),
            on_base=inputs.on_base.get(cell, NOTHING_ON_BASE) if cell else NOTHING_ON_BASE,
            breakage=inputs.breakages.get(cell) if cell and run.failed else None,
        )
        version = inputs.versions.get(run.build_id or "", run.build_version)
        name = test.name if test else run.test_name
        same = (name, version) == (run.test_name, run.build_version)
        current = run if same else replace(run, test_name=name, build_version=version)
        rule = decide_rule(run, context)
        variant = inputs.label(run)
        detail = with_label(variant, reason_detail(current, rule, context, base, inputs.versions))
        triage = inputs.triage(run)
        if triage is not None:
            detail = f"{detail} {triage_sentence(triage)}"
        return GateReason(current, rule, detail, context.breakage, context.quarantine, variant, triage)

    async def _look_up(self, runs: Sequence[GateRun], scope: _Scope) -> _GateInputs:
        failures = {(run.app_id, run.fingerprint) for run in runs if run.app_id and run.fingerprint}
        tests, assessments, variants, triages, (on_base, breakages) = await asyncio.gather(
            self._read.tests_by_id({run.test_id for run in runs}),
            self._assessments(runs),
            self._variants(runs),
            self._failures.triages(failures),
            self._on_other_builds(runs, scope),
        )
        builds = {run.build_id for run in runs if run.build_id}.union(
            *(status.build_ids for status in on_base.values())
        )
        copies = await self._read.builds_by_id(builds | evidence_builds(assessments.values()))
        versions = {build_id: build.version for build_id, build in copies.items()}
        quarantines = active_quarantines({id_: test.quarantine for id_, test in tests.items()}, self._clock.now())
        return _GateInputs(tests, quarantines, assessments, on_base, breakages, versions, variants, triages)

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
        failed = {cell: run for run in runs if run.failed and (cell := run.cell)}
        uploads = await self._verdicts.uploads(failed.keys())
        return {
            key: BuildVerdict(key, uploads[key], _last_run(run), _revision(run))
            async for key, run in in_turns(failed.items())
            if key in uploads
        }

    async def _assessments(self, runs: Sequence[GateRun]) -> dict[HistoryKey, Assessment]:
        """By app and test, of the flaky tests: the gate does not tell the other classes apart."""
        by_app: defaultdict[str, set[Subject]] = defaultdict(set)
        for run in runs:
            if run.app_id:
                by_app[run.app_id].add(run.subject)
        flaky = Classification.FLAKY
        assessments = await asyncio.gather(
            *(self._read.assessments(app_id, some, flaky) for app_id, some in by_app.items())
        )
        pairs = zip(by_app, assessments, strict=True)
        return {(app_id, subject): assessment for app_id, some in pairs for subject, assessment in some.items()}

    async def _variants(self, runs: Sequence[GateRun]) -> dict[str, KnownVariants]:
        """By app, of the tests of these runs."""
        by_app: defaultdict[str, set[str]] = defaultdict(set)
        for run in runs:
            if run.app_id:
                by_app[run.app_id].add(run.test_id)
        known_variants = await asyncio.gather(*(self._read.variants(app_id, tests) for app_id, tests in by_app.items()))
        return dict(zip(by_app, known_variants, strict=True))


def _last_run(run: GateRun) -> LastRun:
    return LastRun(run.ended_at or EPOCH, run.run_id, run.execution_id, Outcome.FAILED, None)


def _revision(run: GateRun) -> SourceRevision:
    """What CI named for the run itself: a run that names no branch is of none, whatever its build was tested for."""
    return SourceRevision(run.ended_at or EPOCH, run.run_id, run.branch, run.commit_sha)
