"""Starting executions: resolve, store with the requests for workers, answer. Accepted means durable."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime

from services.chassis.context import current
from services.chassis.identity import new_id
from services.executor.model import lifecycle
from services.executor.model.changes import begin
from services.executor.model.executions import BuildConfig, Execution, Kind
from services.executor.model.failures import Category, Failure
from services.executor.model.plans import Plan, Resolved
from services.executor.model.retrying import extra_modes
from services.executor.model.run_config import RunConfig, effective
from services.executor.model.runs import Run
from services.executor.model.sources import Ci, Origin, source_of
from services.executor.ports import Catalog, Executions


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What somebody wants started: a workflow or a test, by id."""

    kind: Kind
    subject_id: str
    run_config: RunConfig
    build_config: BuildConfig
    override_build_config: bool = False
    service_client: str | None = None
    ci: Ci = field(default_factory=Ci)


class Starts:
    """Starts workflows and tests of the caller's organisation."""

    def __init__(self, catalog: Catalog, executions: Executions) -> None:
        self._catalog = catalog
        self._executions = executions

    async def start(self, wanted: Start) -> Execution:
        """The execution, stored: queued, or ended already when none of its runs can be made.

        NotFound: no such workflow or test; InvalidArgument: build_config names an unknown app or version, or the
        workflow has no tests. Under an idempotency key a repeat gives the execution that is there.
        """
        execution_id = new_id()
        resolved, now = await asyncio.gather(
            self._catalog.resolve(
                wanted.kind,
                wanted.subject_id,
                wanted.build_config,
                override_build_config=wanted.override_build_config,
            ),
            self._executions.now(),
        )
        execution = _execution(wanted, resolved, execution_id, now)
        runs = _released(_runs(execution, resolved, now), resolved.max_parallel, now)
        plans = dict(zip((run.id for run in runs), resolved.plans, strict=True))
        return await self._executions.add(begin(execution, runs, now), plans)


def _execution(wanted: Start, resolved: Resolved, execution_id: str, now: datetime) -> Execution:
    caller = current()
    origin = Origin(ci=wanted.ci, service_client=wanted.service_client, via_gateway=caller.via_gateway)
    return Execution(
        id=execution_id,
        org_id=caller.org_id,
        kind=wanted.kind,
        source=source_of(origin),
        created_at=now,
        workflow_id=resolved.workflow_id or None,
        workflow_name=resolved.workflow_name or None,
        ci=wanted.ci,
        service_client=wanted.service_client,
        run_config=effective(resolved.run_config, wanted.run_config),
        build_config=wanted.build_config,
        max_parallel=resolved.max_parallel,
    )


def _runs(execution: Execution, resolved: Resolved, now: datetime) -> list[Run]:
    """The runs, waiting to be released; those that cannot be made have failed already."""
    retries = execution.run_config.execution_mode.retries or 0
    return [_run(execution, plan, position, retries, now) for position, plan in enumerate(resolved.plans)]


def _run(execution: Execution, plan: Plan, position: int, retries: int, now: datetime) -> Run:
    run = Run(
        id=new_id(),
        execution_id=execution.id,
        org_id=execution.org_id,
        position=position,
        target=plan.target,
        retries=retries,
        extra_modes=extra_modes(execution.run_config),
        created_at=now,
    )
    problem = plan.config_error or ("" if plan.target.platform else "The test has no platform to run on.")
    return lifecycle.invalid(run, Failure(Category.CONFIG_INVALID, problem, reason=problem), now) if problem else run


def _released(runs: list[Run], max_parallel: int | None, now: datetime) -> list[Run]:
    """The first `max_parallel` of the runs that wait, queued; the others stay as they are."""
    waiting = [run.id for run in runs if not run.status.terminal]
    first = frozenset(waiting[:max_parallel])
    return [lifecycle.queue(run, now) if run.id in first else run for run in runs]
