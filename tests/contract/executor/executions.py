"""Starts executions, works on their runs, and reads what is stored of them."""

from dataclasses import replace
from typing import Any

from mobiletest.executor.v1 import events_pb2

from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.model.run_config import RunConfig
from mobiletest_automation.model.states import Status
from services.chassis.context import Caller, bind, current
from services.chassis.events import Event
from services.executor.model.attribution import Ci
from services.executor.model.executions import BuildConfig, Execution, ExecutionKind, StartSubject
from services.executor.model.runs import Run, RunPlan
from services.executor.ports.executions import Page
from services.executor.ports.runs import Claim, RunKey
from services.executor.usecases.starts import ExecutionStarter, StartRequest
from tests.contract.executor.conftest import World
from tests.fakes.executor import FakeCatalog, plan

ALL = Page(1, 500)
FAILED = AttemptResult(failure=Failure(Category.ASSERTION_FAILED, "Not there.", reason="Not there.", step_index=1))
BROKEN = AttemptResult(failure=Failure(Category.DEVICE_UNAVAILABLE, "No phone."))
STOPPED = AttemptResult(failure=Failure(Category.CANCELLED_BY_USER, "Cancelled on request."))


def request(
    subject: StartSubject, *, config: RunConfig | None = None, ci: Ci | None = None, priority: int = 0
) -> StartRequest:
    return StartRequest(
        subject=subject, run_config=config or RunConfig(), build_config=BuildConfig(), ci=ci or Ci(), priority=priority
    )


async def start(
    world: World,
    *plans: RunPlan,
    org_id: str | None = None,
    max_parallel: int | None = None,
    config: RunConfig | None = None,
    ci: Ci | None = None,
    priority: int = 0,
) -> Execution:
    """A workflow of these plans, or of one; of the caller's organisation or another."""
    catalog = FakeCatalog()
    subject = StartSubject(ExecutionKind.WORKFLOW, catalog.workflow(*(plans or (plan(),)), max_parallel=max_parallel))
    starting = request(subject, config=config, ci=ci, priority=priority)
    with bind(replace(current(), org_id=org_id) if org_id else current()):
        return await ExecutionStarter(catalog, world.executions).start(starting)


async def started(world: World, *plans: RunPlan, max_parallel: int | None = None) -> list[RunKey]:
    """The runs of a new execution, in the order of the plans."""
    return await keys_of(world, await start(world, *plans, max_parallel=max_parallel))


async def runs_of(world: World, execution: Execution) -> list[Run]:
    with bind(Caller(org_id=execution.org_id)):
        return (await world.executions.runs(execution.id, ALL))[0]


async def keys_of(world: World, execution: Execution) -> list[RunKey]:
    return [RunKey(execution.id, run.id) for run in await runs_of(world, execution)]


async def run_of(world: World, key: RunKey) -> Run:
    """A run of the caller's organisation, with its steps."""
    return await world.executions.run(key.execution_id, key.run_id)


async def claimed(world: World, key: RunKey, worker: str = "worker-1") -> Claim:
    claim = await world.runs.claim(key, worker)
    assert claim is not None
    return claim


async def running(world: World, *plans: RunPlan, **fields: Any) -> Claim:
    """The claimed run of a new execution; plans and `fields` are those of `start`."""
    [key] = await keys_of(world, await start(world, *plans, **fields))
    return await claimed(world, key)


async def finish(world: World, claim: Claim, result: AttemptResult = AttemptResult()) -> Run:  # noqa: B008
    return await world.runs.finish(claim.key, claim.run.fencing_token, result)


async def lose(world: World, key: RunKey) -> None:
    """The lease of the run ends without a result."""
    await world.expire_leases()
    await world.runs.expire(key)


async def requests(world: World) -> list[Event]:
    """The requests to run something that were published since the last call."""
    rows = await world.outbox.take_fresh(10_000)
    return [event for row in rows for event in row.events if event.type.endswith("RunRequested")]


async def facts(world: World, execution: Execution) -> list[tuple[int, str, str]]:
    """(sequence, kind, status) of each event in the execution's log."""
    return [_fact(event) for event in await world.executions.log(execution.id, 0, 1000)]


def _fact(event: Event) -> tuple[int, str, str]:
    if event.type.endswith("RunChanged"):
        run = events_pb2.RunChanged.FromString(event.payload).run
        return event.sequence, "run", _status(run.status)
    execution = events_pb2.ExecutionChanged.FromString(event.payload).execution
    return event.sequence, "execution", _status(execution.status)


def _status(number: int) -> str:
    return list(Status)[number - 1].value
