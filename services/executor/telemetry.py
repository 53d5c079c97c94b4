"""The executor's metrics, updated from committed changes."""

from mobiletest_automation.model.attempts import Attempt
from mobiletest_automation.telemetry import COUNTERS
from services.chassis import metrics
from services.executor.model.changes import Change
from services.executor.model.executions import Execution
from services.executor.model.runs import Run

_LONG = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1800, 3600)

executions = metrics.counter("mobiletest_executions_total", "Executions that ended", ["status", "source", "reason"])
duration = metrics.histogram(
    "mobiletest_execution_duration_seconds", "From the first claim to the end of an execution", buckets=_LONG
)
queue = metrics.histogram(
    "mobiletest_execution_queue_seconds", "From the release of a run to its first claim", buckets=_LONG
)
attempts = metrics.counter("mobiletest_attempts_total", "Attempts that ended", ["outcome"])
slots = metrics.gauge("mobiletest_executor_slots", "Run slots of this worker")
running = metrics.gauge("mobiletest_executor_running_executions", "Runs that this worker holds")
lease_expired = metrics.counter("mobiletest_lease_expired_total", "Leases revoked after a worker stopped renewing them")
fencing_rejections = metrics.counter("mobiletest_fencing_rejections_total", "Writes refused: outdated fencing token")
artifact_failures = metrics.counter("mobiletest_artifact_failures_total", "Artifacts that could not be stored")
questions = metrics.counter("mobiletest_human_questions_total", "Questions to people that ended", ["outcome"])
artifacts_delivered = metrics.counter("mobiletest_artifacts_delivered_total", "Spooled artifacts that were uploaded")
artifacts_missing = metrics.counter("mobiletest_artifacts_missing_total", "Spooled artifacts dropped at their deadline")
artifacts_expired = metrics.counter("mobiletest_artifacts_expired_total", "Artifacts deleted by retention")
screen_failures = metrics.counter("mobiletest_screen_failures_total", "Screens that could not be stored")
screens_deleted = metrics.counter("mobiletest_screens_deleted_total", "Screens deleted by retention and limits")
spool_bytes = metrics.gauge("mobiletest_artifact_spool_bytes", "Bytes in the artifact spool")
oldest_unclaimed = metrics.LeaderGauge(
    "mobiletest_execution_oldest_unclaimed_seconds", "Age of the oldest claimable run"
)
stuck = metrics.LeaderGauge("mobiletest_execution_stuck", "Runs long past their time limit")

attempt_processes = metrics.counter(
    "mobiletest_attempt_processes_total",
    "Processes of attempts: started, and ended as out_of_cpu, out_of_memory, late, cancelled, lost",
    ["outcome"],
)

device_slots = metrics.gauge(
    "mobiletest_device_slots", "Device slots of this worker: busy, free, resting", ["pool", "state"]
)
device_sessions = metrics.counter(
    "mobiletest_device_sessions_total", "Sessions at hubs: opened, failed", ["pool", "outcome"]
)
orphans_deleted = metrics.counter(
    "mobiletest_orphan_sessions_total", "Orphaned sessions: deleted, given_up", ["outcome"]
)

metrics.register(COUNTERS)


def observe(change: Change) -> None:
    """Count a committed change."""
    for fact in change.facts:
        _observe_run(fact.run)
    if change.publishes_execution and change.execution.status.terminal:
        _observe_end(change.execution)


def _observe_run(run: Run) -> None:
    if not run.attempts or run.question is not None:
        return
    last = run.attempts[-1]
    if last.status.terminal:
        attempts.labels(_outcome(last)).inc()
    elif last.number == 1 and run.queued_at is not None:
        queue.observe((last.started_at - run.queued_at).total_seconds())


def _outcome(attempt: Attempt) -> str:
    if attempt.handed_back:
        return "handed_back"
    if attempt.success is not None:
        return "passed" if attempt.success else "failed"
    return attempt.failure.category if attempt.failure else "unknown"


def _observe_end(execution: Execution) -> None:
    reason = execution.failure.category if execution.failure else ""
    executions.labels(execution.status, execution.source, reason).inc()
    if execution.execution_time_seconds is not None:
        duration.observe(execution.execution_time_seconds)
