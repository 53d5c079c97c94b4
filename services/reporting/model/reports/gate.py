"""The gate: whether CI may continue after an execution, and why (docs/gate.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from services.reporting.model.flaky import Assessment, Classification
from services.reporting.model.reports.breakage import BaseBranchStatus, Breakage
from services.reporting.model.snapshots import Quarantine, Status


class GateResult(StrEnum):
    """The result of a gate; the values are those of the contract."""

    PASS = "pass"  # noqa: S105 (no password)
    BLOCK = "block"
    PENDING = "pending"


class GateRule(StrEnum):
    """Why a run that did not pass blocks or does not; the values are those of the contract."""

    NEWLY_BROKEN = "newly_broken"
    NO_VERDICT = "no_verdict"
    KNOWN_ON_BASE = "known_on_base"
    FLAKY = "flaky"
    QUARANTINED = "quarantined"

    @property
    def blocks(self) -> bool:
        return self in (GateRule.NEWLY_BROKEN, GateRule.NO_VERDICT)


@dataclass(frozen=True, slots=True)
class ExecutionProgress:
    """An execution: how many runs it has (None: not known yet), how many ended, whether it is a storm (None: open)."""

    total: int | None
    finished: int
    storm: bool | None


@dataclass(slots=True, unsafe_hash=True)
class GateRun:
    """A run of the execution; `category` and `failure_reason` (normalised) are None when nothing failed.

    Of an expired run no more is known than its ids and its status. Nothing changes one: see `BuildVerdict` for why it
    is not frozen.
    """

    run_id: str
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

    @property
    def passed(self) -> bool:
        return self.status is Status.COMPLETED and self.success

    @property
    def failed(self) -> bool:
        """Whether it failed with a verdict."""
        return self.status is Status.COMPLETED and not self.success


@dataclass(slots=True, unsafe_hash=True)
class FailureContext:
    """What a rule needs to know about a run that did not pass: its test's assessment on the app and active quarantine
    and, when it failed with a verdict, the base branch's newest verdict and the breakage.
    """

    assessment: Assessment
    quarantine: Quarantine | None = None
    on_base: BaseBranchStatus | None = None
    breakage: Breakage | None = None


@dataclass(slots=True, unsafe_hash=True)
class GateReason:
    """A run that did not pass, the rule that applied, and why, in a sentence."""

    run: GateRun
    rule: GateRule
    detail: str
    breakage: Breakage | None = None
    quarantine: Quarantine | None = None


@dataclass(frozen=True, slots=True)
class Gate:
    """The gate of an execution; blocking reasons come first."""

    execution_id: str
    result: GateResult
    summary: str
    base_branch: str
    reasons: Sequence[GateReason]
    total: int
    passed: int
    pending: int
    storm: bool


def decide_rule(run: GateRun, context: FailureContext) -> GateRule:
    """The first rule that applies to a run that has ended and did not pass."""
    if context.quarantine is not None:
        return GateRule.QUARANTINED
    if not run.failed:
        return GateRule.NO_VERDICT
    if context.assessment.classification is Classification.FLAKY:
        return GateRule.FLAKY
    known = context.on_base is not None and context.on_base.fails
    return GateRule.KNOWN_ON_BASE if known else GateRule.NEWLY_BROKEN


def decide_result(total: int, pending: int, rules: Sequence[GateRule]) -> GateResult:
    """A blocking run decides at once, while others still run; an execution without runs has tested nothing."""
    if any(rule.blocks for rule in rules) or not total:
        return GateResult.BLOCK
    return GateResult.PENDING if pending else GateResult.PASS


_ORDER: Mapping[GateRule, int] = {rule: place for place, rule in enumerate(GateRule)}


def sort_reasons(reasons: Sequence[GateReason]) -> list[GateReason]:
    """Blocking ones first, then by rule, name and run."""
    return sorted(reasons, key=lambda reason: (_ORDER[reason.rule], reason.run.test_name.casefold(), reason.run.run_id))
