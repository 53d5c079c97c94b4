"""The gate: whether CI may continue after an execution, and why (docs/gate.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from services.reporting.model.flaky import Assessment, Classification
from services.reporting.model.reports.breakage import NOTHING_ON_BASE, BaseBranchStatus, Breakage
from services.reporting.model.snapshots import BuildSnapshot, Quarantine, Simulation, Status
from services.reporting.model.tables import CellKey, HistoryKey
from services.reporting.model.triages import TriageSnapshot
from services.reporting.model.variants import Subject, subject_of


class GateResult(StrEnum):
    """The result of a gate; the values are those of the contract."""

    PASS = "pass"  # noqa: S105 (no password)
    BLOCK = "block"
    PENDING = "pending"


class GateRule(StrEnum):
    """Why a test that did not pass blocks or does not; the values are those of the contract, in the order of reasons.

    "On the base" is about the key of a verdict (app and test, in its variant), as are the lookups behind it.
    """

    NEWLY_BROKEN = "newly_broken"
    NEVER_PASSED = "never_passed"
    NOT_RUN_BEFORE = "not_run_before"
    NO_VERDICT = "no_verdict"
    KNOWN_ON_BASE = "known_on_base"
    FLAKY = "flaky"
    QUARANTINED = "quarantined"

    @property
    def blocks(self) -> bool:
        return self not in (GateRule.KNOWN_ON_BASE, GateRule.FLAKY, GateRule.QUARANTINED)


@dataclass(frozen=True, slots=True)
class ExecutionProgress:
    """An execution: how many runs it has (None: not known yet), how many ended, whether it is a storm (None: open)."""

    total: int | None
    finished: int
    storm: bool | None


@dataclass(slots=True, unsafe_hash=True)
class GateRun:
    """A run that a gate judges; `category`, `failure_reason` (normalised), `failure_message` (as it was) and its
    `fingerprint` are None when nothing failed, the last also when it is not known.

    Of an expired run no more is known than its ids and its status. Nothing changes one: see `BuildVerdict` for why it
    is not frozen.
    """

    run_id: str
    execution_id: str
    test_id: str
    test_name: str
    app_id: str | None
    build_id: str | None
    build_version: str | None
    status: Status
    success: bool
    ended_at: datetime | None
    branch: str | None = None
    commit_sha: str | None = None
    category: str | None = None
    failure_reason: str | None = None
    expired: bool = False
    variant: str = ""
    simulation: Simulation | None = None
    bindings_changed: bool = False
    failure_message: str | None = None
    fingerprint: str | None = None

    @property
    def subject(self) -> Subject:
        """Its test in its variant."""
        return subject_of(self.test_id, self.variant)

    @property
    def passed(self) -> bool:
        return self.status is Status.COMPLETED and self.success

    @property
    def failed(self) -> bool:
        """Whether it failed with a verdict."""
        return self.status is Status.COMPLETED and not self.success

    @property
    def cell(self) -> CellKey | None:
        """What its verdict is about; None without app or build."""
        return (self.app_id, self.subject, self.build_id) if self.app_id and self.build_id else None

    @property
    def history(self) -> HistoryKey | None:
        """What its test is judged by on all builds; None without an app."""
        return (self.app_id, self.subject) if self.app_id else None


@dataclass(slots=True, unsafe_hash=True)
class FailureContext:
    """What a rule needs to know about a run that did not pass: its test's assessment on the app and active quarantine
    and, when it failed with a verdict, how the test does on the base branch, and the breakage.
    """

    assessment: Assessment
    quarantine: Quarantine | None = None
    on_base: BaseBranchStatus = NOTHING_ON_BASE
    breakage: Breakage | None = None


@dataclass(slots=True, unsafe_hash=True)
class GateReason:
    """A run that did not pass, the rule that applied, and why, in a sentence; `variant` is what tells its variant from
    the others of the test. `triage` is what people wrote about its failure, which decides nothing.
    """

    run: GateRun
    rule: GateRule
    detail: str
    breakage: Breakage | None = None
    quarantine: Quarantine | None = None
    variant: str = ""
    triage: TriageSnapshot | None = None


@dataclass(frozen=True, slots=True)
class GateCounts:
    """How many runs (of an execution) or tests (of a build) there are, how many of them passed, and how many runs have
    not ended.
    """

    total: int
    passed: int
    pending: int


@dataclass(frozen=True, slots=True)
class Gate:
    """The gate of an execution; blocking reasons come first. `covers` says what ran; `branch` None: it is not known."""

    execution_id: str
    result: GateResult
    summary: str
    covers: str
    base_branch: str
    branch: str | None
    reasons: Sequence[GateReason]
    counts: GateCounts
    storm: bool


@dataclass(frozen=True, slots=True)
class BuildGate:
    """The gate of a build: its attached tests by their newest verdict on it. `not_run` are those without a finished run
    there, as (id, name).
    """

    build: BuildSnapshot
    result: GateResult
    summary: str
    covers: str
    base_branch: str
    reasons: Sequence[GateReason]
    not_run: Sequence[tuple[str, str]]
    counts: GateCounts
    storm: bool


def decide_rule(run: GateRun, context: FailureContext) -> GateRule:
    """The first rule that applies to a run that has ended and did not pass."""
    if context.quarantine is not None:
        return GateRule.QUARANTINED
    if not run.failed:
        return GateRule.NO_VERDICT
    if context.assessment.classification is Classification.FLAKY:
        return GateRule.FLAKY
    if context.on_base.fails:
        return GateRule.KNOWN_ON_BASE
    if context.on_base.has_passed:
        return GateRule.NEWLY_BROKEN
    return GateRule.NEVER_PASSED if context.on_base.ran else GateRule.NOT_RUN_BEFORE


def decide_result(counts: GateCounts, rules: Sequence[GateRule]) -> GateResult:
    """A blocking run decides at once, while others still run. Where nothing passed, nothing was shown to work."""
    if any(rule.blocks for rule in rules) or not counts.total:
        return GateResult.BLOCK
    if counts.pending:
        return GateResult.PENDING
    return GateResult.PASS if counts.passed else GateResult.BLOCK


_ORDER: Mapping[GateRule, int] = {rule: place for place, rule in enumerate(GateRule)}


def reason_order(reason: GateReason) -> tuple[int, str, str]:
    """What reasons are sorted by: blocking ones first, then by rule, name and run."""
    return (_ORDER[reason.rule], reason.run.test_name.casefold(), reason.run.run_id)
