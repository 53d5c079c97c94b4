"""Executes one run from claim to verdict: attempts until a result is final, each written under its fencing token."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import Artifact, AttemptResult, StepResult
from mobiletest_automation.model.states import Status
from services.chassis import logs
from services.chassis.retry import backoff_seconds, is_transient, log_transient
from services.executor.model.lifecycle import Fenced
from services.executor.model.runs import Run
from services.executor.ports.runs import Attempts, Claim, Runs, StopReason

OVERTIME_SECONDS = 10.0
# How long a stopped attempt may take to release its device.
RELEASE_SECONDS = 5.0

log = logs.get(__name__)


class ActiveRun:
    """One run in one slot; `claim` changes with every attempt.

    `in_attempt` is true while an attempt is running. Before and after it this worker itself changes the run's token,
    so notices about the old token mean nothing.
    """

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.in_attempt = False
        self.steps: tuple[StepResult, ...] = ()
        self.artifacts: tuple[Artifact, ...] = ()
        self.stop_reason: StopReason | None = None
        self._stopped = asyncio.Event()

    @property
    def token(self) -> int:
        return self.claim.run.fencing_token

    def begin(self, claim: Claim) -> None:
        """Start another attempt of the same run."""
        self.claim = claim
        self.steps = ()
        self.artifacts = ()

    def stop(self, reason: StopReason) -> None:
        """End the work. The first reason stands, except that LOST always wins: a lost run must not be written."""
        if self.stop_reason is None or reason is StopReason.LOST:
            self.stop_reason = reason
        self._stopped.set()

    async def wait_until_stopped(self) -> None:
        await self._stopped.wait()

    async def progress(self, steps: Sequence[StepResult], artifacts: Sequence[Artifact] = ()) -> None:
        """Remember the steps and artifacts so far, in case the attempt is stopped."""
        self.steps = tuple(steps)
        self.artifacts = tuple(artifacts)


class RunExecutor:
    """Executes a run in its slot. Whatever a run does becomes a result; only bugs in the executor raise."""

    def __init__(self, runs: Runs, attempts: Attempts, worker: str) -> None:
        self._runs = runs
        self._attempts = attempts
        self._worker = worker

    async def execute(self, active: ActiveRun) -> None:
        """Work on the run until it has ended or belongs to another worker."""
        claim: Claim | None = active.claim
        while claim is not None:
            active.begin(claim)
            run = await self._write(active, await self._attempt(active))
            retry = run is not None and _has_retry_left(run) and active.stop_reason is None
            claim = await self._claim_again(active) if retry else None

    async def _claim_again(self, active: ActiveRun) -> Claim | None:
        """The next attempt; None when another worker has it, or may take it because the database is unavailable."""
        with log_transient(log, "retry_left_to_others", run_id=active.claim.run.id):
            return await self._runs.claim(active.claim.key, self._worker)
        return None

    async def _attempt(self, active: ActiveRun) -> AttemptResult | None:
        """The result of one attempt; None when it was stopped."""
        active.in_attempt = True
        attempt = asyncio.create_task(self._attempt_in_time(active))
        stopped = asyncio.create_task(active.wait_until_stopped())
        try:
            await asyncio.wait({attempt, stopped}, return_when=asyncio.FIRST_COMPLETED)
            return _result(attempt, active.claim) if attempt.done() else None
        finally:
            active.in_attempt = False
            stopped.cancel()
            attempt.cancel()
            # No longer than that: a hub that does not answer must not keep the verdict, or the run from other workers.
            await asyncio.wait({attempt}, timeout=RELEASE_SECONDS)

    async def _attempt_in_time(self, active: ActiveRun) -> AttemptResult:
        """The attempt, cancelled if it exceeds the time limit that it should enforce itself."""
        with suppress(TimeoutError):
            async with asyncio.timeout(active.claim.seconds_left + OVERTIME_SECONDS):
                return await self._attempts.run(active.claim, active.progress)
        return _early_end(active, Failure(Category.RUN_TIMEOUT, "The run did not end within its time limit."))

    async def _write(self, active: ActiveRun, result: AttemptResult | None) -> Run | None:
        """Write how the attempt ended, waiting out database outages; None when another worker owns the run."""
        run_id, number = active.claim.run.id, active.claim.attempt
        tries = 0
        while active.stop_reason is not StopReason.LOST:
            try:
                return await self._write_once(active, result)
            except Fenced:
                log.warning("run_was_fenced", run_id=run_id, attempt=number)
                return None
            except Exception as error:
                if not is_transient(error):
                    # The same write would fail for ever; the run ends with a failure that says why, and its slot is
                    # free again.
                    result = _unstorable(active, result, error)
                tries += 1
                log.warning("verdict_postponed", run_id=run_id, error=repr(error))
                await asyncio.sleep(backoff_seconds(tries, most=2.0))
        log.warning("run_was_lost", run_id=run_id, attempt=number)
        return None

    async def _write_once(self, active: ActiveRun, result: AttemptResult | None) -> Run:
        key, token = active.claim.key, active.token
        if result is not None:
            return await self._runs.finish(key, token, result)
        if active.stop_reason is StopReason.DRAIN:
            return await self._runs.hand_back(key, token)
        cancelled = Failure(Category.CANCELLED_BY_USER, "Cancelled on request.")
        return await self._runs.finish(key, token, _early_end(active, cancelled))


def _early_end(active: ActiveRun, failure: Failure) -> AttemptResult:
    return AttemptResult(failure=failure, steps=active.steps, artifacts=active.artifacts)


def _result(attempt: "asyncio.Task[AttemptResult]", claim: Claim) -> AttemptResult:
    error = attempt.exception()
    if error is None:
        return attempt.result()
    log.error("attempt_failed", run_id=claim.run.id, attempt=claim.attempt, exc_info=error)
    message = f"Internal error in the executor ({type(error).__name__}); its log has the details."
    return AttemptResult(failure=Failure(Category.UNKNOWN, message))


def _unstorable(active: ActiveRun, result: AttemptResult | None, error: Exception) -> AttemptResult:
    """What to write instead of a result that cannot be stored; raises when that could not be stored either."""
    if result is not None and result.failure is not None and result.failure.category is Category.UNKNOWN:
        raise error
    log.error("result_not_storable", run_id=active.claim.run.id, exc_info=error)
    message = f"The result could not be stored ({type(error).__name__}); the executor's log has the details."
    return AttemptResult(failure=Failure(Category.UNKNOWN, message))


def _has_retry_left(run: Run) -> bool:
    """Whether this worker continues with the run itself: after a failing verdict, with retries left."""
    return run.status is Status.RUNNING and run.attempts[-1].failed_verdict
