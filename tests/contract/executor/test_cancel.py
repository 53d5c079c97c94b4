"""Executions can be cancelled in every state, repeatedly and concurrently; each ends once with correct counts."""

import asyncio
from uuid import uuid4

import pytest

from mobiletest_automation.model.devices import Platform
from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.model.states import Status
from services.chassis.errors import FailedPrecondition
from services.executor.model.lifecycle import Fenced
from services.executor.ports.runs import Claim, StopReason
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import (
    BROKEN,
    FAILED,
    STOPPED,
    facts,
    finish,
    keys_of,
    lose,
    running,
    runs_of,
    start,
    started,
)
from tests.fakes.executor import plan

PASSED = AttemptResult()


async def check_ended_once(world: World, execution_id: str, status: Status) -> None:
    """Each run ended once, then the execution with correct counts; claims, writes and cancels are refused."""
    execution = await world.executions.get(execution_id)
    counts = execution.counts
    assert execution.status is status
    assert counts.passed + counts.failed + counts.cancelled + counts.infra_failed == counts.total
    events = await facts(world, execution)
    assert [sequence for sequence, _, _ in events] == list(range(1, len(events) + 1))
    ends = [event for event in events if Status(event[2]).terminal]
    assert len(ends) == counts.total + 1
    assert ends[-1] is events[-1]
    assert all(run.lease is None and run.claimable_at is None for run in await runs_of(world, execution))
    assert not any([await world.runs.claim(key, "worker-9") for key in await keys_of(world, execution)])
    with pytest.raises(FailedPrecondition):
        await world.executions.cancel(execution_id)


async def test_waiting_runs_are_cancelled_at_once(world: World) -> None:
    [key, *_] = await started(world, plan(), plan(), plan(), max_parallel=1)
    await world.executions.cancel(key.execution_id)
    await check_ended_once(world, key.execution_id, Status.CANCELLED)


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
    claim = await running(world)
    execution = await world.executions.cancel(claim.key.execution_id)
    assert execution.status is Status.RUNNING
    assert await world.runs.notices({claim.run.id: claim.run.fencing_token}) == {claim.run.id: StopReason.CANCEL}
    await finish(world, claim, result)
    await check_ended_once(world, execution.id, status)


async def test_a_cancelled_run_that_is_handed_back_ends(world: World) -> None:
    claim = await running(world)
    await world.executions.cancel(claim.key.execution_id)
    await world.runs.hand_back(claim.key, claim.run.fencing_token)
    await check_ended_once(world, claim.key.execution_id, Status.CANCELLED)


@pytest.mark.parametrize("result", [BROKEN, FAILED])
async def test_a_run_that_waits_for_a_retry_is_cancelled_at_once(world: World, result: AttemptResult) -> None:
    claim = await running(world)
    await finish(world, claim, result)
    await world.executions.cancel(claim.key.execution_id)
    await check_ended_once(world, claim.key.execution_id, Status.CANCELLED)


async def test_a_cancelled_run_of_a_lost_worker_ends_with_its_lease(world: World) -> None:
    claim = await running(world)
    await world.executions.cancel(claim.key.execution_id)
    await lose(world, claim.key)
    with pytest.raises(Fenced):
        await finish(world, claim)
    await check_ended_once(world, claim.key.execution_id, Status.CANCELLED)


async def test_concurrent_cancellations_have_one_effect(world: World) -> None:
    claim = await running(world)
    one, two = await asyncio.gather(*(world.executions.cancel(claim.key.execution_id) for _ in range(2)))
    assert one.cancel_requested_at == two.cancel_requested_at
    await finish(world, claim, STOPPED)
    await check_ended_once(world, claim.key.execution_id, Status.CANCELLED)


@pytest.mark.parametrize("first", ["cancel", "finish"])
async def test_concurrent_cancel_and_finish_end_the_run_once(world: World, first: str) -> None:
    claim = await running(world)
    calls = [world.executions.cancel(claim.key.execution_id), finish(world, claim)]
    ends = await asyncio.gather(*(calls if first == "cancel" else reversed(calls)), return_exceptions=True)
    assert all(not isinstance(end, BaseException) or isinstance(end, FailedPrecondition) for end in ends)
    await check_ended_once(world, claim.key.execution_id, Status.COMPLETED)


@pytest.mark.parametrize("first", ["cancel", "claims"])
async def test_concurrent_cancel_and_claims_leave_no_run_open(world: World, first: str) -> None:
    execution = await start(world, *(plan() for _ in range(4)))
    claims = [world.runs.claim(key, f"worker-{uuid4()}") for key in await keys_of(world, execution)]
    calls = [world.executions.cancel(execution.id), *claims]
    for answer in await asyncio.gather(*(calls if first == "cancel" else reversed(calls))):
        if isinstance(answer, Claim):
            await finish(world, answer, STOPPED)
    await check_ended_once(world, execution.id, Status.CANCELLED)
    assert await world.runs.claimable(Platform.ANDROID, 10) == []
