"""Reruns an ended execution: the same test versions on the same builds, as a new execution."""

from collections.abc import Sequence
from datetime import datetime

from services.chassis.errors import FailedPrecondition
from services.chassis.ids import new_id
from services.executor.model.attribution import Origin, source_of
from services.executor.model.executions import Execution
from services.executor.model.runs import Run
from services.executor.ports.executions import Executions, PageRequest
from services.executor.usecases.starts import ExecutionStarter

ALL_RUNS = PageRequest(1, 100_000)


class ExecutionRerunner:
    """Reruns executions of the caller's organisation."""

    def __init__(self, executions: Executions, starter: ExecutionStarter) -> None:
        self._executions = executions
        self._starter = starter

    async def rerun(self, execution_id: str, *, failed_only: bool, service_client: str | None = None) -> Execution:
        """A new execution of all runs, or of those that did not pass; tests and builds are not resolved again.

        NotFound; FailedPrecondition: it has not ended, or `failed_only` and every run passed. Repeated with the same
        idempotency key, returns the execution created before.
        """
        rerun_id = new_id()
        earlier = await self._executions.get(execution_id)
        if not earlier.status.terminal:
            message = f"The execution has not ended: it is {earlier.status}. Cancel it, or wait for its end"
            raise FailedPrecondition(message, reason="EXECUTION_NOT_ENDED")
        found, _ = await self._executions.runs(execution_id, ALL_RUNS)
        runs = _select(found, failed_only=failed_only)
        plans = await self._executions.plans_of(execution_id)
        rerun = _rerun_of(earlier, rerun_id, service_client, await self._executions.now())
        return await self._starter.store(rerun, [plans[run.id] for run in runs])


def _rerun_of(earlier: Execution, rerun_id: str, service_client: str | None, now: datetime) -> Execution:
    origin = Origin(ci=earlier.ci, service_client=service_client, rerun_of=earlier.id)
    return Execution(
        id=rerun_id,
        org_id=earlier.org_id,
        kind=earlier.kind,
        source=source_of(origin),
        created_at=now,
        workflow_id=earlier.workflow_id,
        workflow_name=earlier.workflow_name,
        ci=earlier.ci,
        service_client=service_client,
        run_config=earlier.run_config,
        build_config=earlier.build_config,
        max_parallel=earlier.max_parallel,
        priority=earlier.priority,
        rerun_of=earlier.id,
    )


def _select(runs: Sequence[Run], *, failed_only: bool) -> list[Run]:
    selected = [run for run in runs if not failed_only or run.success is not True]
    if not selected:
        raise FailedPrecondition("Nothing failed: every run of the execution passed", reason="NOTHING_FAILED")
    return selected
