"""Executions can be cancelled in every state, repeatedly and concurrently; each ends once with correct counts."""

import asyncio
from uuid import uuid4

import pytest
from mobiletest.executor.v1 import events_pb2
from mobiletest.types.v1 import execution_pb2

from services.chassis.errors import FailedPrecondition
from services.executor.model.attempts import AttemptResult
from services.executor.model.executions import BuildConfig, Execution, ExecutionKind, StartSubject
from services.executor.model.failures import Category, Failure
from services.executor.model.lifecycle import Fenced
from services.executor.model.run_config import ExecutionMode, RunConfig
from services.executor.model.runs import Platform
from services.executor.model.states import Status
from services.executor.ports.executions import PageRequest
from services.executor.ports.runs import Claim, RunKey, StopReason
from services.executor.usecases.starts import ExecutionStarter, StartRequest
from tests.contract.executor.conftest import World
from tests.fakes.executor import FakeCatalog, plan

PASSED = AttemptResult()
FAILED = AttemptResult(failure=Failure(Category.ASSERTION_FAILED, "Not there."))
BROKEN = AttemptResult(failure=Failure(Category.DEVICE_UNAVAILABLE, "No phone."))
STOPPED = AttemptResult(failure=Failure(Category.CANCELLED_BY_USER, "Cancelled on request."))
ENDED = (
    execution_pb2.EXECUTION_STATUS_COMPLETED,
    execution_pb2.EXECUTION_STATUS_FAILED,
    execution_pb2.EXECUTION_STATUS_CANCELLED,
)


async def start(world: World, runs: int = 1, *, max_parallel: int | None = None) -> tuple[Execution, list[RunKey]]:
    catalog = FakeCatalog()
    wanted = StartRequest(
        subject=StartSubject(
            ExecutionKind.WORKFLOW, catalog.workflow(*(plan() for _ in range(runs)), max_parallel=max_parallel)
        ),
        run_config=RunConfig(execution_mode=ExecutionMode(retries=1)),
        build_config=BuildConfig(),
    )
    execution = await ExecutionStarter(catalog, world.executions).start(wanted)
    found, _ = await world.executions.runs(execution.id, PageRequest(1, 100))
    return execution, [RunKey(execution.id, run.id) for run in found]


async def claim(world: World, key: RunKey) -> Claim:
    claimed = await world.runs.claim(key, "worker-1")
    assert claimed is not None
    return claimed


async def check_ended_once(world: World, execution_id: str, status: Status) -> None:
    """Each run ended once, then the execution with correct counts; claims, writes and cancels are refused."""
    execution = await world.executions.get(execution_id)
    counts = execution.counts
    assert execution.status is status
    assert counts.passed + counts.failed + counts.cancelled + counts.infra_failed == counts.total
    events = await world.executions.log(execution_id, 0, 1000)
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    ends = [event for event in events if _has_ended(event.type, event.payload)]
    assert len(ends) == counts.total + 1
    assert ends[-1] is events[-1]
    runs, _ = await world.executions.runs(execution_id, PageRequest(1, 100))
    assert all(run.lease is None and run.claimable_at is None for run in runs)
    assert [await world.runs.claim(RunKey(execution_id, run.id), "worker-9") for run in runs] == [None] * len(runs)
    with pytest.raises(FailedPrecondition):
        await world.executions.cancel(execution_id)


def _has_ended(kind: str, payload: bytes) -> bool:
    if kind.endswith("RunChanged"):
        return events_pb2.RunChanged.FromString(payload).run.status in ENDED
    return events_pb2.ExecutionChanged.FromString(payload).execution.status in ENDED


async def test_waiting_runs_are_cancelled_at_once(world: World) -> None:
    execution, _ = await start(world, 3, max_parallel=1)
    await world.executions.cancel(execution.id)
    await check_ended_once(world, execution.id, Status.CANCELLED)


@pytest.mark.parametrize(
    ("result", "status"),
    [
        (STOPPED, Status.CANCELLED),
        (BROKEN, Status.CANCELLED),
        (PASSED, Status.COMPLETED),
        (FAILED, Status.COMPLETED),
    ],
)
async def test_a_cancelled_running_run_ends_with_its_worker_result_and_no_retry(
    world: World, result: AttemptResult, status: Status
) -> None:
    """A verdict reached before the worker noticed the cancellation is kept."""
    execution, [key] = await start(world)
    claimed = await claim(world, key)
    asked = await world.executions.cancel(execution.id)
    assert asked.status is Status.RUNNING
    assert await world.runs.notices({key.run_id: claimed.run.fencing_token}) == {key.run_id: StopReason.CANCEL}
    await world.runs.finish(key, claimed.run.fencing_token, result)
    await check_ended_once(world, execution.id, status)


async def test_a_cancelled_run_that_is_handed_back_ends(world: World) -> None:
    execution, [key] = await start(world)
    claimed = await claim(world, key)
    await world.executions.cancel(execution.id)
    await world.runs.hand_back(key, claimed.run.fencing_token)
    await check_ended_once(world, execution.id, Status.CANCELLED)


@pytest.mark.parametrize("result", [BROKEN, FAILED])
async def test_a_run_that_waits_for_a_retry_is_cancelled_at_once(world: World, result: AttemptResult) -> None:
    execution, [key] = await start(world)
    claimed = await claim(world, key)
    await world.runs.finish(key, claimed.run.fencing_token, result)
    await world.executions.cancel(execution.id)
    await check_ended_once(world, execution.id, Status.CANCELLED)


async def test_a_cancelled_run_of_a_lost_worker_ends_with_its_lease(world: World) -> None:
    execution, [key] = await start(world)
    claimed = await claim(world, key)
    await world.executions.cancel(execution.id)
    await world.advance(16)
    await world.runs.expire(key)
    with pytest.raises(Fenced):
        await world.runs.finish(key, claimed.run.fencing_token, PASSED)
    await check_ended_once(world, execution.id, Status.CANCELLED)


async def test_concurrent_cancellations_have_one_effect(world: World) -> None:
    execution, [key] = await start(world)
    claimed = await claim(world, key)
    one, two = await asyncio.gather(*(world.executions.cancel(execution.id) for _ in range(2)))
    assert one.cancel_requested_at == two.cancel_requested_at
    await world.runs.finish(key, claimed.run.fencing_token, STOPPED)
    await check_ended_once(world, execution.id, Status.CANCELLED)


@pytest.mark.parametrize("attempt", range(5))
async def test_concurrent_cancel_and_finish_end_the_run_once(world: World, attempt: int) -> None:
    execution, [key] = await start(world)
    claimed = await claim(world, key)
    finish = world.runs.finish(key, claimed.run.fencing_token, PASSED)
    calls = [finish, world.executions.cancel(execution.id)]
    answers = await asyncio.gather(*(calls if attempt % 2 else reversed(calls)), return_exceptions=True)
    assert all(not isinstance(a, BaseException) or isinstance(a, FailedPrecondition) for a in answers)
    await check_ended_once(world, execution.id, Status.COMPLETED)


@pytest.mark.parametrize("attempt", range(5))
async def test_concurrent_cancel_and_claims_leave_no_run_open(world: World, attempt: int) -> None:
    execution, keys = await start(world, 4)
    claims = [world.runs.claim(key, f"worker-{uuid4()}") for key in keys]
    calls = [world.executions.cancel(execution.id), *claims]
    answers = await asyncio.gather(*(calls if attempt % 2 else reversed(calls)))
    for claimed in answers:
        if isinstance(claimed, Claim):
            await world.runs.finish(claimed.key, claimed.run.fencing_token, STOPPED)
    await check_ended_once(world, execution.id, Status.CANCELLED)
    assert await world.runs.claimable(Platform.ANDROID, 10) == []
