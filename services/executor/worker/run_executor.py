"""One run from claim to verdict: attempts until there is a result that stands, each written under its token."""

import asyncio
from contextlib import suppress

from services.chassis import logs
from services.chassis.retry import backoff_seconds, is_transient
from services.executor.model.attempts import AttemptResult
from services.executor.model.failures import Category, Failure
from services.executor.model.lifecycle import Fenced
from services.executor.model.runs import Run
from services.executor.model.states import Status
from services.executor.ports.attempts import Attempts
from services.executor.ports.runs import Claim, Runs
from services.executor.worker.active_run import ActiveRun, StopReason

OVERTIME_SECONDS = 10.0
LET_GO_SECONDS = 5.0

log = logs.get(__name__)


class RunExecutor:
    """Carries a run through in its slot. Nothing that a run does comes out as an exception, but for bugs of ours."""

    def __init__(self, runs: Runs, attempts: Attempts, worker: str) -> None:
        self._runs = runs
        self._attempts = attempts
        self._worker = worker

    async def through(self, held: ActiveRun) -> None:
        """Work on the run until it has ended or is somebody else's."""
        more = True
        while more:
            more = False
            result = await self._attempt(held)
            run = await self._write(held, result)
            if run is not None and _tries_again(run) and held.why is None:
                claim = await self._next(held)
                if claim is not None:
                    held.begin(claim)
                    more = True

    async def _next(self, held: ActiveRun) -> Claim | None:
        """The next attempt; None when somebody else makes it, as whoever is free may when the database is away now."""
        try:
            return await self._runs.claim(held.claim.key, self._worker)
        except Exception as error:
            if not is_transient(error):
                raise
            log.warning("retry_left_to_others", run_id=held.claim.run.id, error=repr(error))
            return None

    async def _attempt(self, held: ActiveRun) -> AttemptResult | None:
        """The result of one attempt; None when the work was stopped from outside."""
        held.trying = True
        attempt = asyncio.create_task(self._timed(held))
        stopped = asyncio.create_task(held.stopped())
        try:
            await asyncio.wait({attempt, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if attempt.done():
                return _result(attempt, held.claim)
            return None
        finally:
            held.trying = False
            stopped.cancel()
            attempt.cancel()
            await asyncio.wait({attempt}, timeout=LET_GO_SECONDS)

    async def _timed(self, held: ActiveRun) -> AttemptResult:
        """The attempt, cut off if it overstays the time limit that it is to keep itself."""
        with suppress(TimeoutError):
            async with asyncio.timeout(held.claim.seconds_left + OVERTIME_SECONDS):
                return await self._attempts.run(held.claim, held.progress)
        late = Failure(Category.RUN_TIMEOUT, "The run did not end within its time limit.")
        return AttemptResult(failure=late, steps=held.steps, artifacts=held.artifacts)

    async def _write(self, held: ActiveRun, result: AttemptResult | None) -> Run | None:
        """Write how the attempt ended, however long the database is away; None when the run is somebody else's."""
        attempt = 0
        while held.why is not StopReason.LOST:
            try:
                return await self._written(held, result)
            except Fenced:
                log.warning("run_was_fenced", run_id=held.claim.run.id, attempt=held.claim.attempt)
                return None
            except Exception as error:
                if not is_transient(error):
                    result = _unwritable(held, result, error)
                attempt += 1
                log.warning("verdict_postponed", run_id=held.claim.run.id, error=repr(error))
                await asyncio.sleep(backoff_seconds(attempt, most=2.0))
        log.warning("run_was_lost", run_id=held.claim.run.id, attempt=held.claim.attempt)
        return None

    async def _written(self, held: ActiveRun, result: AttemptResult | None) -> Run:
        key, token = held.claim.key, held.token
        if result is not None:
            return await self._runs.finish(key, token, result)
        if held.why is StopReason.DRAIN:
            return await self._runs.hand_back(key, token)
        cancelled = Failure(Category.CANCELLED_BY_USER, "Cancelled on request.")
        stopped = AttemptResult(failure=cancelled, steps=held.steps, artifacts=held.artifacts)
        return await self._runs.finish(key, token, stopped)


def _result(attempt: "asyncio.Task[AttemptResult]", claim: Claim) -> AttemptResult:
    error = attempt.exception()
    if error is None:
        return attempt.result()
    log.error("attempt_failed", run_id=claim.run.id, attempt=claim.attempt, exc_info=error)
    message = f"The executor failed ({type(error).__name__}); its log has the details."
    return AttemptResult(failure=Failure(Category.UNKNOWN, message))


def _unwritable(held: ActiveRun, result: AttemptResult | None, error: Exception) -> AttemptResult:
    """What to write instead of a result that cannot be stored; raises when that could not be stored either."""
    if result is not None and result.failure is not None and result.failure.category is Category.UNKNOWN:
        raise error
    log.error("result_not_storable", run_id=held.claim.run.id, exc_info=error)
    message = f"The result could not be stored ({type(error).__name__}); the executor's log has the details."
    return AttemptResult(failure=Failure(Category.UNKNOWN, message))


def _tries_again(run: Run) -> bool:
    """Whether this worker goes on with the run itself: after a failing verdict, with retries left."""
    return run.status is Status.RUNNING and run.attempts[-1].failed_verdict
