"""The executor's events: changes of executions and runs, and requests for workers."""

import re
from collections.abc import Callable
from typing import Any

from mobiletest.executor.v1 import events_pb2, executions_pb2
from mobiletest.types.v1 import platform_pb2

from mobiletest_automation.model.devices import Platform
from services.chassis.events import Event
from services.chassis.proto_values import to_enum_number, to_timestamp
from services.executor.messages import execution_proto, run_proto
from services.executor.model.changes import Change, RunFact
from services.executor.model.executions import Execution
from services.executor.model.runs import Run

EXECUTION_EVENTS = "mobiletest.executor.v1.execution-events"
RUN_REQUESTS = {
    Platform.ANDROID: "mobiletest.executor.v1.run-requests.android",
    Platform.IOS: "mobiletest.executor.v1.run-requests.ios",
}
RUN_REQUEST_PARTITIONS = 48
# The topics that the executor uses, with the number of partitions that they are created with.
TOPICS = {EXECUTION_EVENTS: 12, **dict.fromkeys(RUN_REQUESTS.values(), RUN_REQUEST_PARTITIONS)}

# `Outbox.event`: (topic, key, message, subject=, sequence=, checked=) -> Event.
Make = Callable[..., Event]

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def topics(run_request_partitions: int) -> dict[str, int]:
    """The topics, with this number of partitions for run requests."""
    return {**TOPICS, **dict.fromkeys(RUN_REQUESTS.values(), run_request_partitions)}


def events_of(change: Change, make: Make) -> list[Event]:
    """The events of a change: first those of the execution's log, then the run requests."""
    siblings = _Siblings(change.execution)
    facts = [_run_event(siblings, fact, make) for fact in change.facts]
    if change.publishes_execution:
        facts.append(_execution_event(change.execution, make))
    return facts + [_request_event(run, make, checked=run is not change.requested[0]) for run in change.requested]


def _run_event(siblings: "_Siblings", fact: RunFact, make: Make) -> Event:
    execution, key = siblings.execution, fact.run.target.app_id or siblings.execution.id
    message = siblings.copy_for(fact)
    is_copy = message is not None
    if message is None:
        message = siblings.keep(fact.run, run_changed_message(execution, fact.run, fact.sequence))
    return make(EXECUTION_EVENTS, key, message, subject=execution.id, sequence=fact.sequence, checked=is_copy)


class _Siblings:
    """The messages of runs that wait to be started, of one execution: they differ in the test alone.

    The second and later runs of a kind get a copy of the first one's message, which costs a tenth. What a copy changes
    has no rules, except for two ids: that of the run is our own, that of the test is looked at here.
    """

    def __init__(self, execution: Execution) -> None:
        self.execution = execution
        self._messages: dict[tuple[Any, ...], events_pb2.RunChanged] = {}

    def copy_for(self, fact: RunFact) -> events_pb2.RunChanged | None:
        """The message of a run of which a sibling has one that was kept; None without one."""
        run, target = fact.run, fact.run.target
        first = self._messages.get(_kind(run)) if _is_untried(run) else None
        if first is None or not _UUID.fullmatch(target.test_id):
            return None
        message = events_pb2.RunChanged()
        message.CopyFrom(first)
        message.sequence = fact.sequence
        message.run.id = run.id
        message.run.test_id = target.test_id
        message.run.test_name = target.test_name
        message.run.test_version_number = target.test_version_number
        message.run.ClearField("source_path")
        if target.source_path is not None:
            message.run.source_path = target.source_path
        return message

    def keep(self, run: Run, message: events_pb2.RunChanged) -> events_pb2.RunChanged:
        """Keep the run's message for its siblings."""
        if _is_untried(run):
            self._messages[_kind(run)] = message
        return message


def _is_untried(run: Run) -> bool:
    return not (run.attempts or run.failure or run.question or run.status.terminal)


def _kind(run: Run) -> tuple[Any, ...]:
    """All that is published of a run without attempts, except for the run itself and its test."""
    target = run.target
    build = target.build_id, target.resolved_build_version, target.build_uploaded_at
    variant = run.variant.id, run.variant.left_out
    return run.status, run.revision, target.platform, target.app_id, build, variant


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


def _request_event(run: Run, make: Make, *, checked: bool) -> Event:
    """`checked`: another run of the execution has been; they differ in the ids of the runs, which are our own."""
    platform = run.target.platform
    if platform is None:
        raise ValueError(f"run {run.id} has no platform, so no worker can be requested")
    message = events_pb2.RunRequested(
        org_id=run.org_id,
        run_id=run.id,
        execution_id=run.execution_id,
        platform=to_enum_number(platform_pb2.Platform, platform),
    )
    return make(RUN_REQUESTS[platform], run.id, message, checked=checked)


def to_execution_event(event: Event) -> executions_pb2.ExecutionEvent | None:
    """An event of an execution's log as sent to watchers; None for other types."""
    if event.type == events_pb2.RunChanged.DESCRIPTOR.full_name:
        run = events_pb2.RunChanged.FromString(event.payload).run
        return executions_pb2.ExecutionEvent(sequence=event.sequence, run=run)
    if event.type == events_pb2.ExecutionChanged.DESCRIPTOR.full_name:
        execution = events_pb2.ExecutionChanged.FromString(event.payload).execution
        return executions_pb2.ExecutionEvent(sequence=event.sequence, execution=execution)
    return None
