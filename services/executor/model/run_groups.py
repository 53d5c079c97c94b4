"""The runs of an execution with the worst first: those of one reason are a group, whatever their order in lists is."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.states import Status


class RunStanding(StrEnum):
    """How a run stands, the worst first. RETRIED: it passed, but not in its first attempt."""

    FAILED = "failed"
    NO_VERDICT = "no_verdict"
    RETRIED = "retried"
    RUNNING = "running"
    WAITING = "waiting"
    CANCELLED = "cancelled"
    PASSED = "passed"


_ORDER = {standing: place for place, standing in enumerate(RunStanding)}
_BY_STATUS = {
    Status.FAILED: RunStanding.NO_VERDICT,
    Status.CANCELLED: RunStanding.CANCELLED,
    Status.RUNNING: RunStanding.RUNNING,
}


@dataclass(frozen=True, slots=True)
class RunState:
    """What of a run says where it belongs; category and reason are those of its failure."""

    id: str
    status: Status
    success: bool | None = None
    attempts: int = 0
    category: Category | None = None
    reason: str = ""

    @property
    def standing(self) -> RunStanding:
        """No failure is a pass: one without a verdict that says so is a failure."""
        if self.status is not Status.COMPLETED:
            return _BY_STATUS.get(self.status, RunStanding.WAITING)
        if not self.success:
            return RunStanding.FAILED
        return RunStanding.RETRIED if self.attempts > 1 else RunStanding.PASSED


@dataclass(frozen=True, slots=True)
class RunGroup:
    """Runs that stand alike; of those that failed, those of one category and reason."""

    standing: RunStanding
    category: Category | None
    reason: str
    run_ids: Sequence[str]


def group_runs(states: Sequence[RunState]) -> list[RunGroup]:
    """All runs in groups, the worst first, of those the largest; in a group they keep their order."""
    members: dict[tuple[RunStanding, Category | None, str], list[str]] = defaultdict(list)
    for state in states:
        has_reason = state.standing in (RunStanding.FAILED, RunStanding.NO_VERDICT)
        members[(state.standing, *((state.category, state.reason) if has_reason else (None, "")))].append(state.id)
    groups = [RunGroup(*key, run_ids) for key, run_ids in members.items()]
    return sorted(groups, key=lambda group: (_ORDER[group.standing], -len(group.run_ids)))
