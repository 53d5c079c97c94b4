"""Starts executions and reads what is stored of them, for the contracts of both ports."""

from mobiletest.executor.v1 import events_pb2

from services.chassis.events import Event
from services.executor.model.attempts import AttemptResult
from services.executor.model.attribution import Ci
from services.executor.model.executions import BuildConfig, Execution, ExecutionKind, StartSubject
from services.executor.model.failures import Category, Failure
from services.executor.model.run_config import RunConfig
from services.executor.model.runs import Run, RunPlan
from services.executor.model.states import Status
from services.executor.ports.executions import PageRequest
from services.executor.ports.runs import Claim, RunKey
from services.executor.usecases.starts import ExecutionStarter, StartRequest
from tests.contract.executor.conftest import World
from tests.fakes.executor import FakeCatalog

ALL = PageRequest(1, 500)
FAILED = AttemptResult(failure=Failure(Category.ASSERTION_FAILED, "Not there.", reason="Not there.", step_index=1))
BROKEN = AttemptResult(failure=Failure(Category.DEVICE_UNAVAILABLE, "No phone."))


async def start(world: World, *plans: RunPlan, max_parallel: int | None = None, ci: Ci = Ci()) -> Execution:  # noqa: B008
    catalog = FakeCatalog()
    workflow_id = catalog.workflow(*plans, max_parallel=max_parallel)
    wanted = StartRequest(
        subject=StartSubject(ExecutionKind.WORKFLOW, workflow_id),
        run_config=RunConfig(),
        build_config=BuildConfig(),
        ci=ci,
    )
    return await ExecutionStarter(catalog, world.executions).start(wanted)


async def runs_of(world: World, execution: Execution) -> list[Run]:
    return (await world.executions.runs(execution.id, ALL))[0]


async def keys_of(world: World, execution: Execution) -> list[RunKey]:
    return [RunKey(execution.id, run.id) for run in await runs_of(world, execution)]


async def claimed(world: World, key: RunKey, worker: str = "worker-1") -> Claim:
    claim = await world.runs.claim(key, worker)
    assert claim is not None
    return claim


async def facts(world: World, execution: Execution) -> list[tuple[int, str, str]]:
    """(sequence, kind, status) of each event in the execution's log."""
    return [_told(event) for event in await world.executions.log(execution.id, 0, 1000)]


def _told(event: Event) -> tuple[int, str, str]:
    if event.type.endswith("RunChanged"):
        run = events_pb2.RunChanged.FromString(event.payload).run
        return event.sequence, "run", _status(run.status)
    execution = events_pb2.ExecutionChanged.FromString(event.payload).execution
    return event.sequence, "execution", _status(execution.status)


def _status(number: int) -> str:
    return list(Status)[number - 1].value
