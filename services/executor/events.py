"""The executor's events: changes of executions and runs, and requests for workers."""

from collections.abc import Callable

from mobiletest.executor.v1 import events_pb2, executions_pb2
from mobiletest.types.v1 import platform_pb2

from services.chassis.events import Event
from services.chassis.proto_values import to_enum_number, to_timestamp
from services.executor.messages import execution_proto, run_proto
from services.executor.model.changes import Change, RunFact
from services.executor.model.executions import Execution
from services.executor.model.runs import Platform, Run

EXECUTION_EVENTS = "mobiletest.executor.v1.execution-events"
RUN_REQUESTS = {
    Platform.ANDROID: "mobiletest.executor.v1.run-requests.android",
    Platform.IOS: "mobiletest.executor.v1.run-requests.ios",
}
RUN_REQUEST_PARTITIONS = 48
TOPICS = {EXECUTION_EVENTS: 12, **dict.fromkeys(RUN_REQUESTS.values(), RUN_REQUEST_PARTITIONS)}
"""The topics that the executor uses, with the number of partitions that they are created with."""

Make = Callable[..., Event]
"""`Outbox.event`: (topic, key, message, subject=, sequence=) -> Event."""


def topics(run_request_partitions: int) -> dict[str, int]:
    """The topics, with this number of partitions for run requests."""
    return {**TOPICS, **dict.fromkeys(RUN_REQUESTS.values(), run_request_partitions)}


def events_of(change: Change, make: Make) -> list[Event]:
    """The events of a change: first those of the execution's log, then the run requests."""
    facts = [_run_event(change.execution, fact, make) for fact in change.facts]
    if change.publishes_execution:
        facts.append(_execution_event(change.execution, make))
    return facts + [_request_event(run, make) for run in change.requested]


def _run_event(execution: Execution, fact: RunFact, make: Make) -> Event:
    key = fact.run.target.app_id or execution.id
    message = run_changed_message(execution, fact.run, fact.sequence)
    return make(EXECUTION_EVENTS, key, message, subject=execution.id, sequence=fact.sequence)


def run_changed_message(execution: Execution, run: Run, sequence: int = 0) -> events_pb2.RunChanged:
    """The event of a run; `sequence` is its number in the execution's log, 0 outside the log."""
    return events_pb2.RunChanged(
        org_id=run.org_id,
        revision=run.revision,
        sequence=sequence,
        run=run_proto(execution, run, brief=True),
        build_uploaded_at=to_timestamp(run.target.build_uploaded_at),
        branch=execution.ci.branch,
        commit_sha=execution.ci.commit_sha,
        created_at=to_timestamp(execution.created_at),
    )


def _execution_event(execution: Execution, make: Make) -> Event:
    message = execution_changed_message(execution)
    return make(EXECUTION_EVENTS, execution.id, message, subject=execution.id, sequence=execution.revision)


def execution_changed_message(execution: Execution) -> events_pb2.ExecutionChanged:
    """The event of an execution."""
    return events_pb2.ExecutionChanged(
        org_id=execution.org_id, sequence=execution.revision, execution=execution_proto(execution, brief=True)
    )


def _request_event(run: Run, make: Make) -> Event:
    platform = run.target.platform
    if platform is None:
        raise ValueError(f"run {run.id} has no platform, so no worker can be requested")
    message = events_pb2.RunRequested(
        org_id=run.org_id,
        run_id=run.id,
        execution_id=run.execution_id,
        platform=to_enum_number(platform_pb2.Platform, platform),
    )
    return make(RUN_REQUESTS[platform], run.id, message)


def to_execution_event(event: Event) -> executions_pb2.ExecutionEvent | None:
    """An event of an execution's log as sent to watchers; None for other types."""
    if event.type == events_pb2.RunChanged.DESCRIPTOR.full_name:
        run = events_pb2.RunChanged.FromString(event.payload).run
        return executions_pb2.ExecutionEvent(sequence=event.sequence, run=run)
    if event.type == events_pb2.ExecutionChanged.DESCRIPTOR.full_name:
        execution = events_pb2.ExecutionChanged.FromString(event.payload).execution
        return executions_pb2.ExecutionEvent(sequence=event.sequence, execution=execution)
    return None
