"""Which executions a newer one supersedes: earlier ones of the same workflow for the same change."""

from dataclasses import dataclass

from services.executor.model.attribution import Ci
from services.executor.model.executions import Execution


@dataclass(frozen=True, slots=True)
class Lane:
    """Executions of which only the newest matters. Without a pull request the branch identifies the change."""

    org_id: str
    workflow_id: str
    repository: str | None
    pr_number: int | None
    branch: str | None


def has_lane(ci: Ci) -> bool:
    """Whether CI named the change that an execution is for."""
    return ci.pr_number is not None or bool(ci.branch)


def lane_of(execution: Execution) -> Lane | None:
    """The lane of an execution; None for a single test, and when CI did not name the change."""
    ci = execution.ci
    if execution.workflow_id is None or not has_lane(ci):
        return None
    branch = ci.branch if ci.pr_number is None else None
    return Lane(execution.org_id, execution.workflow_id, ci.repository, ci.pr_number, branch)
