"""One run from claim to verdict."""

import asyncio
from typing import Any

import pytest

from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import AttemptResult, StepResult, StepStatus
from mobiletest_automation.model.states import Status
from services.chassis.errors import Unavailable
from services.executor.model.runs import Run
from services.executor.ports.runs import Claim, RunKey, StopReason
from services.executor.storage.runs import MongoRuns
from services.executor.worker.run_executor import ActiveRun, RunExecutor
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import BROKEN, FAILED, lose, requests, run_of, running
from tests.eventually import eventually
from tests.fakes.executor import FakeAttempts


async def execute(world: World, attempts: FakeAttempts, runs: MongoRuns | None = None) -> Run:
    """A run, after a worker has executed it."""
    active = ActiveRun(await running(world))
    await RunExecutor(runs or world.runs, attempts, "worker-1").execute(active)
    return await run_of(world, active.claim.key)


def category(run: Run) -> Category | None:
    return run.failure.category if run.failure is not None else None


async def test_the_same_worker_retries_a_failing_verdict_at_once(world: World) -> None:
    attempts = FakeAttempts(FAILED)
    run = await execute(world, attempts)
    assert (run.success, run.flaky) == (True, True)
    assert [(attempt.number, attempt.worker) for attempt in run.attempts] == [(1, "worker-1"), (2, "worker-1")]
    assert [claim.attempt for claim in attempts.begun] == [1, 2]


async def test_an_infrastructure_failure_is_left_to_other_workers(world: World) -> None:
    attempts = FakeAttempts(BROKEN)
    run = await execute(world, attempts)
    assert (run.status, run.lease, len(attempts.begun)) == (Status.RUNNING, None, 1)


async def test_an_unexpected_error_in_an_attempt_fails_the_run(world: World) -> None:
    run = await execute(world, FakeAttempts(ZeroDivisionError("boom")))
    assert run.failure is not None
    assert run.failure.category is Category.UNKNOWN
    assert "ZeroDivisionError" in run.failure.message


async def stopped(world: World, why: StopReason, *, cancel: bool = False) -> Run:
    """A run that was stopped during its attempt."""
    attempts = FakeAttempts(blocking=True)
    active = ActiveRun(await running(world))
    work = asyncio.create_task(RunExecutor(world.runs, attempts, "worker-1").execute(active))
    await eventually(lambda: attempts.begun)
    if cancel:
        await world.executions.cancel(active.claim.key.execution_id)
    now = await world.executions.now()
    await active.progress([StepResult(index=0, kind="sentence", text="Tap", status=StepStatus.PASSED, started_at=now)])
    active.stop(why)
    await work
    assert len(attempts.cancelled) == 1
    return await run_of(world, active.claim.key)


async def test_a_cancelled_run_releases_its_device_and_keeps_its_steps(world: World) -> None:
    run = await stopped(world, StopReason.CANCEL, cancel=True)
    assert (run.status, len(run.attempts[0].steps)) == (Status.CANCELLED, 1)


async def test_nothing_is_written_for_a_lost_run(world: World) -> None:
    run = await stopped(world, StopReason.LOST)
    assert (run.status, run.attempts[0].status) == (Status.RUNNING, Status.RUNNING)


async def test_a_draining_worker_hands_the_run_back(world: World) -> None:
    run = await stopped(world, StopReason.DRAIN)
    assert (run.status, run.lease, run.attempts[0].handed_back) == (Status.RUNNING, None, True)
    assert run.claimable_at is not None
    assert len(await requests(world)) == 2


async def test_a_fenced_verdict_is_dropped(world: World) -> None:
    attempts = FakeAttempts(blocking=True)
    active = ActiveRun(await running(world))
    work = asyncio.create_task(RunExecutor(world.runs, attempts, "worker-1").execute(active))
    await eventually(lambda: attempts.begun)
    await lose(world, active.claim.key)
    attempts.release.set()
    await work
    assert (await run_of(world, active.claim.key)).status is Status.RUNNING


class FailingRuns(MongoRuns):
    """Raises the given errors for the first writes of results."""

    def __init__(self, world: World, *errors: Exception) -> None:
        super().__init__(world.transactions)
        self.errors = list(errors)

    async def finish(self, key: RunKey, token: int, result: AttemptResult) -> Run:
        if self.errors:
            raise self.errors.pop(0)
        return await super().finish(key, token, result)


async def test_a_verdict_is_written_after_a_database_outage(world: World) -> None:
    runs = FailingRuns(world, Unavailable("down"), Unavailable("down"))
    assert (await execute(world, FakeAttempts(), runs)).success is True


async def test_an_unstorable_result_becomes_a_storable_failure(world: World) -> None:
    run = await execute(world, FakeAttempts(), FailingRuns(world, ValueError("too large")))
    assert category(run) is Category.UNKNOWN


async def test_a_failure_that_cannot_be_stored_is_raised(world: World) -> None:
    with pytest.raises(ValueError, match="still"):
        await execute(world, FakeAttempts(), FailingRuns(world, ValueError("too large"), ValueError("still")))


class Overstaying(FakeAttempts):
    """Does not enforce the time limit itself."""

    async def run(self, claim: Any, progress: Any) -> AttemptResult:
        raise TimeoutError


async def test_an_attempt_beyond_its_time_limit_is_a_run_timeout(world: World) -> None:
    assert category(await execute(world, Overstaying())) is Category.RUN_TIMEOUT


class AwayForClaims(MongoRuns):
    """Unavailable for claims."""

    async def claim(self, key: RunKey, worker: str) -> Claim | None:
        raise Unavailable("down")


async def test_a_retry_that_cannot_be_claimed_is_left_to_other_workers(world: World) -> None:
    run = await execute(world, FakeAttempts(FAILED), AwayForClaims(world.transactions))
    assert (run.status, run.lease) == (Status.RUNNING, None)
    assert run.claimable_at is not None
