"""The gate: whether CI may go on after an execution, and why (docs/gate.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from services.reporting.model.flaky import Assessment, Classification
from services.reporting.model.quarantine import Quarantine
from services.reporting.model.reports.base_branch import OnBase
from services.reporting.model.reports.breakage import Breakage
from services.reporting.model.snapshots import Status


class Result(StrEnum):
    """What a gate says; the values are those of the contract."""

    PASS = "pass"  # noqa: S105 (no password)
    BLOCK = "block"
    PENDING = "pending"


class Rule(StrEnum):
    """Why a run that did not pass blocks or does not; the values are those of the contract."""

    NEWLY_BROKEN = "newly_broken"
    NO_VERDICT = "no_verdict"
    KNOWN_ON_BASE = "known_on_base"
    FLAKY = "flaky"
    QUARANTINED = "quarantined"

    @property
    def blocks(self) -> bool:
        return self in (Rule.NEWLY_BROKEN, Rule.NO_VERDICT)


@dataclass(frozen=True, slots=True)
class Progress:
    """An execution: how many runs it has (None: not told yet), how many ended, whether it is a storm (None: open)."""

    total: int | None
    finished: int
    storm: bool | None


@dataclass(frozen=True, slots=True)
class GateRun:
    """A run of the execution; `category` and `failure_reason` (normalised) are None when nothing failed.

    Of an expired run no more is known than its ids and its status.
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
        """With a verdict."""
        return self.status is Status.COMPLETED and not self.success


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was looked up for a run that did not pass: how its test behaves on its app, its lasting quarantine, and,
    when it failed with a verdict, the newest verdict on the base branch and since when it fails.
    """

    assessment: Assessment
    quarantine: Quarantine | None = None
    on_base: OnBase | None = None
    breakage: Breakage | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """A run that did not pass, the rule that decided, and what it saw, in a sentence."""

    run: GateRun
    rule: Rule
    detail: str
    breakage: Breakage | None = None
    quarantine: Quarantine | None = None


@dataclass(frozen=True, slots=True)
class Gate:
    """What the gate says of an execution; `reasons`: those that block first."""

    execution_id: str
    result: Result
    summary: str
    base_branch: str
    reasons: Sequence[Reason]
    total: int
    passed: int
    pending: int
    storm: bool


def rule_of(run: GateRun, evidence: Evidence) -> Rule:
    """The first rule that applies to a run that has ended and did not pass."""
    if evidence.quarantine is not None:
        return Rule.QUARANTINED
    if not run.failed:
        return Rule.NO_VERDICT
    if evidence.assessment.classification is Classification.FLAKY:
        return Rule.FLAKY
    known = evidence.on_base is not None and evidence.on_base.fails
    return Rule.KNOWN_ON_BASE if known else Rule.NEWLY_BROKEN


def result_of(total: int, pending: int, rules: Sequence[Rule]) -> Result:
    """One run that blocks settles it, though others go on; an execution without runs has tested nothing."""
    if any(rule.blocks for rule in rules) or not total:
        return Result.BLOCK
    return Result.PENDING if pending else Result.PASS


_ORDER: Mapping[Rule, int] = {rule: place for place, rule in enumerate(Rule)}


def in_order(reasons: Sequence[Reason]) -> list[Reason]:
    """Those that block first, then by rule, name and run."""
    return sorted(reasons, key=lambda reason: (_ORDER[reason.rule], reason.run.test_name.casefold(), reason.run.run_id))
