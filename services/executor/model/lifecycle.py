"""The transitions of a run: each function takes a run and returns the changed run.

`now` is always the database's clock. Writes under a lease carry its fencing token; Fenced means that the run now
belongs to another worker or has ended, and nothing may be written.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from mobiletest_automation.model.attempts import Attempt, AttemptMode, close_attempt, verdict
from mobiletest_automation.model.failures import CANCELLATIONS, Category, Failure, Fault, cancellation
from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.model.run_config import CacheRetryMode, FallbackTrigger, RunConfig
from mobiletest_automation.model.states import Status, advance
from services.executor.model.runs import Orphan, Question, QuestionPrompt, Run, RunLease, RunLimits, close_question
from services.executor.model.workers import Fleet

# At most this many are tracked per run; hubs end idle sessions by themselves anyway.
ORPHANS_LIMIT = 8


class Fenced(Exception):
    """The fencing token is outdated: another worker owns the run, or it has ended."""


class NotClaimable(Exception):
    """The run is leased, not yet released, or has ended."""


def queue(run: Run, now: datetime) -> Run:
    """Release the run, so that a worker can claim it."""
    return replace(run, status=advance(run.status, Status.QUEUED), queued_at=now, claimable_at=now)


def is_claimable(run: Run, now: datetime) -> bool:
    """Whether a worker can claim the run now."""
    return run.claimable_at is not None and run.claimable_at <= now and run.cancel_requested_at is None


def claim(run: Run, worker: str, now: datetime, limits: RunLimits) -> Run:
    """Give the run to a worker, which starts its next attempt.

    Raises:
        NotClaimable: the run is leased, not released, or has ended.
    """
    if not is_claimable(run, now):
        raise NotClaimable(run.id)
    mode = next_mode(run) or AttemptMode.USUAL
    attempt = Attempt(number=run.attempt_number + 1, worker=worker, started_at=now, mode=mode)
    return replace(
        run,
        status=run.status if run.status is Status.RUNNING else advance(run.status, Status.RUNNING),
        attempts=(*run.attempts, attempt),
        started_at=run.started_at or now,
        # The time limit is that of all attempts together.
        deadline_at=run.deadline_at or now + limits.run_timeout,
        claimable_at=None,
        lease=RunLease(worker, now + limits.lease_ttl),
        fencing_token=run.fencing_token + 1,
    )


def finish(run: Run, token: int, result: AttemptResult, now: datetime, limits: RunLimits) -> Run:
    """Close the current attempt, and end the run unless it is to be attempted again.

    Raises:
        Fenced: the run belongs to another worker, or has ended.
    """
    check_token(run, token)
    return _close(run, result, now, limits)


def hand_back(run: Run, token: int, now: datetime) -> Run:
    """Release the run without a result: it can be claimed at once, and the attempt does not count.

    Raises:
        Fenced: the run belongs to another worker, or has ended.
    """
    check_token(run, token)
    run = _orphan_session(run, now)
    if run.cancel_requested_at is not None:
        cancelled = cancellation(run.superseded_by)
        return end(_close_attempt(run, AttemptResult(failure=cancelled), now), cancelled, now)
    message = f"Worker {run.attempts[-1].worker} shut down and handed the run back."
    gone = Failure(Category.EXECUTOR_LOST, message, reason="The worker stopped.")
    after = _close_attempt(run, AttemptResult(failure=gone), now)
    last = replace(after.attempts[-1], handed_back=True)
    return replace(after, attempts=(*after.attempts[:-1], last), claimable_at=now)


def request_cancel(run: Run, now: datetime, superseded_by: str | None = None) -> Run:
    """Cancel the run: at once when no worker holds it, else by notifying its worker. The first request counts.

    `superseded_by` is the newer execution on whose behalf it is cancelled, if any.
    """
    asked = run
    if run.cancel_requested_at is None:
        asked = replace(
            run, cancel_requested_at=now, superseded_by=superseded_by, question=close_question(run.question)
        )
    return asked if run.lease is not None else end(asked, cancellation(asked.superseded_by), now)


def expire(run: Run, now: datetime, limits: RunLimits, fleet: Fleet | None = None) -> Run:
    """After `due_at`, revoke the run's lease or end the run; before, return it unchanged.

    `fleet` (None: not known) tells whether a run that nobody took waited for devices that nobody has.
    """
    due = run.due_at(limits)
    if due is None or now < due:
        return run
    if run.lease is None:
        return end(run, _timeout_failure(run, limits, fleet), now)
    return _close(_orphan_session(run, now), AttemptResult(failure=_lost_failure(run, now)), now, limits)


def check_token(run: Run, token: int) -> None:
    """Check the token of a write.

    Raises:
        Fenced: the token is not that of the current lease.
    """
    if run.lease is None or run.fencing_token != token:
        raise Fenced(run.id)


def _orphan_session(run: Run, now: datetime) -> Run:
    """The run, with its worker's session among the orphans: it is unknown whether the worker closed it."""
    session = run.lease.session if run.lease is not None else None
    if session is None:
        return run
    orphans = (*run.orphans, Orphan(session.hub, session.id, now))
    return replace(run, orphans=orphans[-ORPHANS_LIMIT:])


def _close(run: Run, result: AttemptResult, now: datetime, limits: RunLimits) -> Run:
    # A verdict that the test reached before it was stopped stands; any other failure may be the cancellation itself.
    if run.cancel_requested_at is not None and result.failure and result.failure.category.fault is not Fault.TEST:
        result = replace(result, failure=cancellation(run.superseded_by))
    after = _close_attempt(run, result, now)
    if result.failure is None or not _may_retry(after, result.failure, now, limits):
        return end(after, result.failure and final_failure(after, result.failure), now)
    return replace(after, claimable_at=now + _pause(result.failure, limits))


def _close_attempt(run: Run, result: AttemptResult, now: datetime) -> Run:
    """Close the attempt and remove the lease; the new token fences off the previous owner."""
    last, token = close_attempt(run.attempts[-1], result, now), run.fencing_token + 1
    return replace(run, attempts=(*run.attempts[:-1], last), lease=None, fencing_token=token, question=None)


def _may_retry(run: Run, failure: Failure, now: datetime, limits: RunLimits) -> bool:
    if run.cancel_requested_at is not None or (run.deadline_at is not None and now >= run.deadline_at):
        return False
    match failure.category.fault:
        case Fault.TEST:
            return next_mode(run) is not None
        case Fault.INFRASTRUCTURE:
            return sum(a.failed_by_infrastructure for a in run.attempts) <= limits.infrastructure_retries
        case Fault.NEITHER:
            return False


def _pause(failure: Failure, limits: RunLimits) -> timedelta:
    """The pause before the next attempt: devices and networks may need time, a lost worker does not."""
    rests = failure.category.fault is Fault.INFRASTRUCTURE and failure.category is not Category.EXECUTOR_LOST
    return limits.infrastructure_backoff if rests else timedelta()


def end(run: Run, failure: Failure | None, now: datetime) -> Run:
    """End the run, which passed without a failure; it may have never been released."""
    status, success = verdict(failure)
    return replace(
        run,
        status=advance(run.status, status),
        success=success,
        failure=failure,
        completed_at=now,
        claimable_at=None,
        lease=None,
    )


def _lost_failure(run: Run, now: datetime) -> Failure:
    if run.deadline_at is not None and now >= run.deadline_at:
        message = "The run exceeded its time limit and its worker did not end it."
        return Failure(Category.RUN_TIMEOUT, message, reason=message)
    message = f"Worker {run.attempts[-1].worker} stopped renewing its lease on the run."
    return Failure(Category.EXECUTOR_LOST, message, reason="The worker was lost.")


def _timeout_failure(run: Run, limits: RunLimits, fleet: Fleet | None) -> Failure:
    if run.status is Status.QUEUED:
        seconds, platform = limits.queue_timeout.total_seconds(), run.target.platform
        if fleet is not None and platform is not None and not fleet.has_devices(platform, run.org_id):
            message = f"It waited for {seconds:.0f} s, and no worker has {platform} devices: ask the operator for some."
            return Failure(Category.DEVICE_UNAVAILABLE, message, reason=f"No worker has {platform} devices.")
        message = (
            f"No worker was available for {seconds:.0f} s, or the organisation had as many running runs as it may "
            "(limit concurrent_runs)."
        )
        return Failure(Category.QUEUE_TIMEOUT, message, reason="No worker was available.")
    message = f"The run did not end within {limits.run_timeout.total_seconds():.0f} s."
    return Failure(Category.RUN_TIMEOUT, message, reason="The run took too long.")


class QuestionNotOpen(Exception):
    """The question cannot be answered; `reason` is NOTHING_ASKED, OTHER_QUESTION or QUESTION_EXPIRED."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


def ask_question(run: Run, token: int, prompt: QuestionPrompt, patience: timedelta, now: datetime) -> Run:
    """Ask for at most `patience`, within the run's time limit. A run that is being cancelled asks nothing."""
    check_token(run, token)
    if run.cancel_requested_at is not None:
        return run
    expires_at = now + patience if run.deadline_at is None else min(now + patience, run.deadline_at)
    return replace(run, question=Question(prompt=prompt, asked_at=now, expires_at=expires_at))


def answer_question(run: Run, question_id: str | None, text: str, now: datetime) -> Run:
    """Answer the question with this id, or the open one when the id is None.

    Raises:
        QuestionNotOpen: there is no such question, or it is closed.
    """
    question = run.question
    if question is not None and question_id is not None and question.prompt.id != question_id:
        raise QuestionNotOpen("OTHER_QUESTION", "This question is not open any more: it may have been answered already")
    if question is None or not question.open:
        raise QuestionNotOpen("NOTHING_ASKED", "The run has no open question: it was answered already, or ended")
    if now >= question.expires_at:
        raise QuestionNotOpen("QUESTION_EXPIRED", "The question has expired")
    return replace(run, question=replace(question, answer=text, open=False))


def withdraw_question(run: Run, token: int, question_id: str) -> Run:
    """Close the question; an answer that has arrived stays."""
    check_token(run, token)
    if run.question is None or run.question.prompt.id != question_id:
        return run
    return replace(run, question=close_question(run.question))


def extra_modes(config: RunConfig) -> tuple[AttemptMode, ...]:
    """The extra attempts that a configuration allows beyond `retries`, once each."""
    uncached = (AttemptMode.UNCACHED,) if config.cache_retry_mode is CacheRetryMode.FULL_RERUN else ()
    return (*uncached, AttemptMode.MODEL) if config.fallback_trigger is FallbackTrigger.FINAL_FAIL else uncached


def next_mode(run: Run) -> AttemptMode | None:
    """The mode of the next attempt, None for no more attempts. Only failing verdicts count: an extra attempt whose
    worker was lost is repeated, one with a verdict is not.
    """
    failed = [attempt for attempt in run.attempts if attempt.failed_verdict]
    had = {attempt.mode for attempt in failed}
    if (
        failed
        and failed[-1].cache_failed
        and AttemptMode.UNCACHED in run.extra_modes
        and AttemptMode.UNCACHED not in had
    ):
        return AttemptMode.UNCACHED
    if sum(attempt.mode is AttemptMode.USUAL for attempt in failed) <= run.retries:
        return AttemptMode.USUAL
    return AttemptMode.MODEL if AttemptMode.MODEL in run.extra_modes and AttemptMode.MODEL not in had else None


def may_use_cache(run: Run) -> bool:
    """Whether the latest attempt may use the step cache: with full_rerun, not after a cached action failed."""
    return AttemptMode.UNCACHED not in run.extra_modes or not any(attempt.cache_failed for attempt in run.attempts)


def may_ask_model(run: Run) -> bool:
    """Whether fallback_trigger allows the latest attempt to ask a model."""
    return AttemptMode.MODEL not in run.extra_modes or run.attempts[-1].mode is AttemptMode.MODEL


def final_failure(run: Run, failure: Failure) -> Failure:
    """Why the run ends. If the extra attempt with a model ends without a verdict, the earlier verdict stands."""
    verdicts = [attempt for attempt in run.attempts if attempt.failed_verdict]
    last: Attempt = run.attempts[-1]
    without = failure.category.fault is not Fault.TEST and failure.category not in CANCELLATIONS
    if last.mode is AttemptMode.MODEL and without and verdicts and verdicts[-1].failure is not None:
        return verdicts[-1].failure
    return failure
