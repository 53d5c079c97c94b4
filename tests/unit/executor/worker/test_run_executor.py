"""One run from claim to verdict."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from services.chassis.errors import Unavailable
from services.chassis.events import Event
from services.executor.model.attempts import AttemptResult, StepResult, StepStatus
from services.executor.model.failures import Category, Failure
from services.executor.model.runs import Run
from services.executor.model.states import Status
from services.executor.ports.runs import Claim, RunKey, StopReason
from services.executor.worker.run_executor import RunExecutor
from tests.eventually import eventually
from tests.fakes.executor import FakeAttempts
from tests.fakes.executor_executions import FakeExecutions
from tests.unit.executor.worker.builders import FAILED, active_run, run_of, started


async def test_a_passing_result_is_written() -> None:
    store, attempts = FakeExecutions(), FakeAttempts()
    [key] = await started(store)
    await RunExecutor(store, attempts, "worker-1").execute(await active_run(store, key))
    assert (run_of(store, key).status, run_of(store, key).success) == (Status.COMPLETED, True)


async def test_the_same_worker_retries_a_failing_verdict_at_once() -> None:
    store, attempts = FakeExecutions(), FakeAttempts(FAILED)
    [key] = await started(store)
    await RunExecutor(store, attempts, "worker-1").execute(await active_run(store, key))
    run = run_of(store, key)
    assert (run.success, run.flaky) == (True, True)
    assert [(attempt.number, attempt.worker) for attempt in run.attempts] == [(1, "worker-1"), (2, "worker-1")]
    assert [claim.attempt for claim in attempts.begun] == [1, 2]


async def test_an_infrastructure_failure_is_left_to_other_workers() -> None:
    broken = AttemptResult(failure=Failure(Category.DEVICE_UNAVAILABLE, "No phone."))
    store, attempts = FakeExecutions(), FakeAttempts(broken)
    [key] = await started(store)
    await RunExecutor(store, attempts, "worker-1").execute(await active_run(store, key))
    run = run_of(store, key)
    assert (run.status, run.lease, len(attempts.begun)) == (Status.RUNNING, None, 1)


async def test_an_unexpected_error_in_an_attempt_fails_the_run() -> None:
    store, attempts = FakeExecutions(), FakeAttempts(ZeroDivisionError("boom"))
    [key] = await started(store)
    await RunExecutor(store, attempts, "worker-1").execute(await active_run(store, key))
    failure = run_of(store, key).failure
    assert failure is not None
    assert failure.category is Category.UNKNOWN
    assert "ZeroDivisionError" in failure.message


async def stopped(store: FakeExecutions, key: RunKey, why: StopReason, *, cancel: bool = False) -> FakeAttempts:
    """Stop a run during its attempt."""
    attempts = FakeAttempts(blocking=True)
    holding = await active_run(store, key)
    work = asyncio.create_task(RunExecutor(store, attempts, "worker-1").execute(holding))
    await eventually(lambda: attempts.begun)
    if cancel:
        store.stored[key.run_id] = replace(store.stored[key.run_id], cancel_requested_at=store.clock)
    step = StepResult(index=0, kind="sentence", text="Tap", status=StepStatus.PASSED, started_at=store.clock)
    await holding.progress([step])
    holding.stop(why)
    await work
    return attempts


async def test_a_cancelled_run_releases_its_device_and_keeps_its_steps() -> None:
    store = FakeExecutions()
    [key] = await started(store)
    attempts = await stopped(store, key, StopReason.CANCEL, cancel=True)
    run = run_of(store, key)
    assert (run.status, len(attempts.cancelled), len(run.attempts[0].steps)) == (Status.CANCELLED, 1, 1)


async def test_nothing_is_written_for_a_lost_run() -> None:
    store = FakeExecutions()
    [key] = await started(store)
    attempts = await stopped(store, key, StopReason.LOST)
    run = run_of(store, key)
    assert (run.status, run.attempts[0].status, len(attempts.cancelled)) == (Status.RUNNING, Status.RUNNING, 1)


async def test_a_draining_worker_hands_the_run_back() -> None:
    store = FakeExecutions()
    [key] = await started(store)
    await stopped(store, key, StopReason.DRAIN)
    run = run_of(store, key)
    assert (run.status, run.lease, run.attempts[0].handed_back) == (Status.RUNNING, None, True)
    assert run.claimable_at == store.clock
    assert _requests(store.events) == 2


def _requests(events: list[Event]) -> int:
    return sum(event.type.endswith("RunRequested") for event in events)


async def test_a_fenced_verdict_is_dropped() -> None:
    store, attempts = FakeExecutions(), FakeAttempts(blocking=True)
    [key] = await started(store)
    work = asyncio.create_task(RunExecutor(store, attempts, "worker-1").execute(await active_run(store, key)))
    await eventually(lambda: attempts.begun)
    store.advance(16)
    await store.expire(key)
    attempts.release.set()
    await work
    assert run_of(store, key).status is Status.RUNNING


class FailingOnce(FakeExecutions):
    """Raises the given errors for the first writes of results."""

    def __init__(self, *errors: Exception) -> None:
        super().__init__()
        self.errors = list(errors)

    async def finish(self, key: RunKey, token: int, result: AttemptResult) -> Run:
        if self.errors:
            raise self.errors.pop(0)
        return await super().finish(key, token, result)


async def test_a_verdict_is_written_after_a_database_outage() -> None:
    store = FailingOnce(Unavailable("down"), Unavailable("down"))
    [key] = await started(store)
    await RunExecutor(store, FakeAttempts(), "worker-1").execute(await active_run(store, key))
    assert run_of(store, key).success is True


async def test_an_unstorable_result_becomes_a_storable_failure() -> None:
    store = FailingOnce(ValueError("too large"))
    [key] = await started(store)
    await RunExecutor(store, FakeAttempts(), "worker-1").execute(await active_run(store, key))
    failure = run_of(store, key).failure
    assert failure is not None
    assert failure.category is Category.UNKNOWN


async def test_a_failure_that_cannot_be_stored_is_raised() -> None:
    store = FailingOnce(ValueError("too large"), ValueError("still"))
    [key] = await started(store)
    with pytest.raises(ValueError, match="still"):
        await RunExecutor(store, FakeAttempts(), "worker-1").execute(await active_run(store, key))


class Overstaying(FakeAttempts):
    """Does not enforce the time limit itself."""

    async def run(self, claim: Any, progress: Any) -> AttemptResult:
        raise TimeoutError


async def test_an_attempt_beyond_its_time_limit_is_a_run_timeout() -> None:
    store = FakeExecutions()
    [key] = await started(store)
    await RunExecutor(store, Overstaying(), "worker-1").execute(await active_run(store, key))
    failure = run_of(store, key).failure
    assert failure is not None
    assert failure.category is Category.RUN_TIMEOUT


class AwayForClaims(FakeExecutions):
    """Accepts one claim; the database is unavailable for later ones."""

    claims = 0

    async def claim(self, key: RunKey, worker: str) -> Claim | None:
        self.claims += 1
        if self.claims > 1:
            raise Unavailable("down")
        return await super().claim(key, worker)


async def test_a_retry_that_cannot_be_claimed_is_left_to_other_workers() -> None:
    store, attempts = AwayForClaims(), FakeAttempts(FAILED)
    [key] = await started(store)
    await RunExecutor(store, attempts, "worker-1").execute(await active_run(store, key))
    run = run_of(store, key)
    assert (run.status, run.lease, run.claimable_at) == (Status.RUNNING, None, store.clock)
