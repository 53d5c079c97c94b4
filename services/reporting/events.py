"""Events as snapshots: protobuf payloads into values of the model."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from google.protobuf.message import DecodeError, Message
from google.protobuf.timestamp_pb2 import Timestamp
from mobiletest.catalog.v1 import events_pb2 as catalog
from mobiletest.executor.v1 import events_pb2 as executor
from mobiletest.executor.v1 import runs_pb2
from mobiletest.reporting.v1 import reports_pb2
from mobiletest.types.v1 import execution_pb2, source_position_pb2

from services.chassis import logs, metrics
from services.chassis.events import Event, InvalidMessage
from services.chassis.ids import ID_RULE, is_id
from services.chassis.proto_values import read_optional, struct_to_json
from services.reporting.model.attempts import BuildRef
from services.reporting.model.batch import Snapshot
from services.reporting.model.cells import failure_group
from services.reporting.model.fingerprint import is_fingerprint
from services.reporting.model.snapshots import (
    AppSnapshot,
    AttachmentSnapshot,
    AttemptSnapshot,
    BuildSnapshot,
    ExecutionSnapshot,
    Failure,
    Quarantine,
    RunSnapshot,
    Simulation,
    SourcePosition,
    Status,
    TestSnapshot,
)
from services.reporting.model.tables import EPOCH
from services.reporting.model.triages import FailureState, TriageSnapshot
from services.reporting.model.variants import EMPTY_VARIANT, Variant
from services.reporting.proto_enums import CATEGORY, FAILURE_STATE, INFRASTRUCTURE, PLATFORM, STATUS

log = logs.get(__name__)

# Names are truncated to so many characters: cells and histories store many of them in one document.
_NAME_LENGTH = 1000
_VARIANT_LENGTH = 64
_LARGEST_NUMBER = 2**31 - 1
_unknown = metrics.counter("mobiletest_reporting_unknown_events_total", "Events of an unknown type")


def parse_event(event: Event) -> Snapshot | None:
    """The snapshot that the event carries.

    None for a type not known here, and for runs that check a proposal: they are no results of their tests.

    Raises:
        InvalidMessage: when the event can never become a snapshot.
    """
    reader = _READERS.get(event.type)
    if reader is None:
        _unknown.inc()
        log.debug("unknown_event", type=event.type[:200])
        return None
    message_type, read = reader
    message = message_type()
    try:
        message.ParseFromString(event.payload)
        return read(message, event.time)
    except DecodeError as error:
        raise InvalidMessage("UNDECODABLE", str(error), event=event) from error
    except (ValueError, OverflowError) as error:
        raise InvalidMessage("INVALID_FIELD", str(error), event=event) from error


def _run_snapshot(message: executor.RunChanged, event_time: datetime) -> RunSnapshot | None:
    run = message.run
    if run.verifies:
        return None
    item = list_item(run)
    snapshot = RunSnapshot(
        run_id=_required_id(run.id, "run.id"),
        org_id=_required_id(message.org_id, "org_id"),
        revision=message.revision,
        execution_id=_required_id(run.execution_id, "run.execution_id"),
        test_id=_required_id(run.test_id, "run.test_id"),
        test_name=run.test_name[:_NAME_LENGTH],
        test_version=run.test_version_number,
        status=_run_status(run.status),
        event_time=event_time,
        app_id=_optional_id(run.app_id, "run.app_id"),
        build=_build_ref(message),
        success=read_optional(run, "success"),
        started_at=_datetime_field(run, "started_at"),
        completed_at=_datetime_field(run, "completed_at"),
        seconds=_run_seconds(run),
        branch=message.branch[:_NAME_LENGTH] or None,
        commit_sha=message.commit_sha[:_NAME_LENGTH] or None,
        created_at=_datetime_field(message, "created_at"),
        attempts=_attempts(run, event_time),
        failure=_failure(run),
        list_item=item.SerializeToString(deterministic=True),  # maps in the order of their keys, everywhere
        variant=_variant(run),
        simulation=_simulation(run),
        bindings_changed="bindings_changed" in run.report_metadata.fields,
        repository=_said(run, "repository"),
        ci_system=_said(run, "system"),
        pr_number=_pr_number(run),
        flaky=_says_flaky(run),
    )
    group = failure_group(snapshot)
    if group is None:
        return snapshot
    item.failure_fingerprint = group.fingerprint
    return replace(snapshot, list_item=item.SerializeToString(deterministic=True))


def _said(run: runs_pb2.Run, name: str) -> str | None:
    """A text of the CI attribution; None if CI did not say it."""
    said = run.metadata.fields.get(name)
    return (said.string_value[:_NAME_LENGTH] or None) if said is not None else None


def _says_flaky(run: runs_pb2.Run) -> bool:
    """Whether the executor calls the run flaky; False too if it says nothing."""
    said = run.report_metadata.fields.get("flaky")
    return said is not None and said.bool_value


def _pr_number(run: runs_pb2.Run) -> int | None:
    said = run.metadata.fields.get("pr_number")
    number = said.number_value if said is not None else 0.0
    return int(number) if 0 < number <= _LARGEST_NUMBER else None


def _simulation(run: runs_pb2.Run) -> Simulation | None:
    last = run.attempts[-1] if run.attempts else runs_pb2.Attempt()
    return Simulation.of(simulated=last.simulated, built_in_model=last.built_in_model)


def _variant(run: runs_pb2.Run) -> Variant:
    variant_id = _optional_id(run.variant.id, "run.variant.id")
    if variant_id is None:
        return EMPTY_VARIANT
    values = struct_to_json(run.variant.values)
    texts = {name: value for name, value in values.items() if isinstance(value, str)}
    return Variant(variant_id[:_VARIANT_LENGTH], texts)


def list_item(run: runs_pb2.Run) -> reports_pb2.BuildRunItem:
    """The run as lists show it."""
    item = reports_pb2.BuildRunItem(
        execution_id=run.execution_id,
        test_id=run.test_id,
        test_name=run.test_name,
        status=run.status,
        success=run.success,
        source=run.source,
        metadata=run.metadata,
        report_metadata=run.report_metadata,
        run_id=run.id,
    )
    for name in ("started_at", "completed_at", "variant"):
        if run.HasField(name):
            getattr(item, name).CopyFrom(getattr(run, name))
    for name in ("execution_time_seconds", "resolved_build_version", "app_id"):
        if run.HasField(name):
            setattr(item, name, getattr(run, name))
    return item


def _attempts(run: runs_pb2.Run, event_time: datetime) -> tuple[AttemptSnapshot, ...]:
    """Failures before a pass that the executor does not call flaky are no verdicts: what passed then was not the same,
    for it had a model or a person to help, or did without a memory that misled it.
    """
    attempts = tuple([_attempt(attempt, event_time) for attempt in run.attempts])
    if not run.success or all(attempt.passed is not False for attempt in attempts):
        return attempts
    said = run.report_metadata.fields.get("flaky")
    if said is None or said.bool_value:
        return attempts
    return tuple(replace(attempt, passed=None) if attempt.passed is False else attempt for attempt in attempts)


def _attempt(attempt: runs_pb2.Attempt, event_time: datetime) -> AttemptSnapshot:
    failure = _failure(attempt)
    started_at = _datetime_field(attempt, "started_at") or event_time
    return AttemptSnapshot(attempt.number, started_at, _verdict(attempt, failure), failure)


def _verdict(attempt: runs_pb2.Attempt, failure: Failure | None) -> bool | None:
    """Whether it passed; None for an attempt without a verdict, or that infrastructure let down."""
    completed = attempt.status == execution_pb2.EXECUTION_STATUS_COMPLETED and attempt.HasField("success")
    if not completed or (failure is not None and failure.category in INFRASTRUCTURE):
        return None
    return bool(attempt.success)


def _failure(holder: runs_pb2.Run | runs_pb2.Attempt) -> Failure | None:
    if not holder.HasField("failure"):
        return None
    failure = holder.failure
    return Failure(
        category=CATEGORY.get(failure.category, "unknown"),
        message=failure.message or failure.reason,
        step_kind=failure.step_kind[:_NAME_LENGTH],
        step_index=read_optional(failure, "step_index"),
        reason=failure.reason,
        position=_position(failure.position) if failure.HasField("position") else None,
    )


def _position(position: source_position_pb2.SourcePosition) -> SourcePosition:
    return position.file[:_NAME_LENGTH], position.line, position.column


def _build_ref(message: executor.RunChanged) -> BuildRef | None:
    run = message.run
    build_id = _optional_id(run.build_id, "run.build_id")
    if build_id is None:
        return None
    uploaded_at = _datetime_field(message, "build_uploaded_at") or EPOCH
    return BuildRef(uploaded_at, build_id, run.resolved_build_version[:_NAME_LENGTH])


def _execution_snapshot(message: executor.ExecutionChanged, _: datetime) -> ExecutionSnapshot | None:
    execution = message.execution
    if execution.verifies:
        return None
    return ExecutionSnapshot(
        _required_id(execution.id, "execution.id"),
        _required_id(message.org_id, "org_id"),
        message.sequence,
        execution.counts.total,
    )


def _app_snapshot(message: catalog.AppChanged, _: datetime) -> AppSnapshot:
    return AppSnapshot(
        app_id=_required_id(message.app_id, "app_id"),
        org_id=_required_id(message.org_id, "org_id"),
        revision=message.revision,
        deleted=message.deleted,
        name=message.name,
        current_version=read_optional(message, "current_version"),
    )


def _build_snapshot(message: catalog.BuildChanged, event_time: datetime) -> BuildSnapshot:
    return BuildSnapshot(
        build_id=_required_id(message.build_id, "build_id"),
        org_id=_required_id(message.org_id, "org_id"),
        revision=message.revision,
        deleted=message.deleted,
        app_id=_required_id(message.app_id, "app_id"),
        version=message.version,
        uploaded_at=_datetime_field(message, "uploaded_at") or event_time,
    )


def _test_snapshot(message: catalog.TestChanged, _: datetime) -> TestSnapshot:
    return TestSnapshot(
        test_id=_required_id(message.test_id, "test_id"),
        org_id=_required_id(message.org_id, "org_id"),
        revision=message.revision,
        deleted=message.deleted,
        name=message.name,
        platform=PLATFORM.get(message.platform),
        tags=tuple(message.tags),
        version=message.version_number,
        created_at=_datetime_field(message, "created_at"),
        quarantine=_quarantine(message),
    )


def _quarantine(message: catalog.TestChanged) -> Quarantine | None:
    if not message.HasField("quarantine"):
        return None
    told = message.quarantine
    until, since = _datetime_field(told, "until"), _datetime_field(told, "since")
    if until is None or since is None:
        raise ValueError("quarantine has no end or no beginning")
    return Quarantine(told.reason, until, told.by, since)


def _attachment_snapshot(message: catalog.AttachmentChanged, _: datetime) -> AttachmentSnapshot:
    return AttachmentSnapshot(
        app_id=_required_id(message.app_id, "app_id"),
        test_id=_required_id(message.test_id, "test_id"),
        org_id=_required_id(message.org_id, "org_id"),
        revision=message.revision,
        attached=message.attached,
        pinned_version=read_optional(message, "pinned_version"),
        test_name=message.test_name,
    )


def _required_id(value: str, name: str) -> str:
    """The id, which becomes a part of keys. Raises ValueError, as all checks of fields do: see `parse_event`."""
    if not is_id(value):
        raise ValueError(f"{name} is not an id ({ID_RULE}): {value[:100]!r}")
    return value


def _optional_id(value: str, name: str) -> str | None:
    return _required_id(value, name) if value else None


def _run_status(number: int) -> Status:
    if number not in STATUS:
        raise ValueError(f"run.status is {number}")
    return STATUS[number]


def _run_seconds(run: runs_pb2.Run) -> float | None:
    if not run.HasField("execution_time_seconds"):
        return None
    if not 0 <= run.execution_time_seconds < math.inf:
        raise ValueError(f"run.execution_time_seconds is {run.execution_time_seconds}")
    return float(run.execution_time_seconds)


def _datetime_field(holder: Message, name: str) -> datetime | None:
    """A timestamp field in UTC, to the millisecond as MongoDB stores it; None when it is absent."""
    if not holder.HasField(name):
        return None
    timestamp: Timestamp = getattr(holder, name)
    return _milliseconds(timestamp.seconds, timestamp.nanos // 1_000_000)


@lru_cache(maxsize=4096)
def _milliseconds(seconds: int, milliseconds: int) -> datetime:
    """The moment in UTC. Cached, because events of one batch share most of theirs: chassis.read_datetime takes four
    times as long. ValueError or OverflowError when there is no such moment.
    """
    if not 0 <= milliseconds < 1000:
        raise ValueError(f"a timestamp has {milliseconds} milliseconds")
    return EPOCH + timedelta(seconds=seconds, milliseconds=milliseconds)


def _triage_snapshot(message: catalog.FailureTriageChanged, _: datetime) -> TriageSnapshot:
    if not is_fingerprint(message.fingerprint):
        raise ValueError(f"fingerprint is {message.fingerprint[:100]!r}")
    triage = message.triage
    return TriageSnapshot(
        app_id=_required_id(message.app_id, "app_id"),
        fingerprint=message.fingerprint,
        org_id=_required_id(message.org_id, "org_id"),
        revision=message.revision,
        state=FAILURE_STATE.get(triage.state, FailureState.OPEN),
        fixed_in=read_optional(triage, "fixed_in"),
        note=read_optional(triage, "note"),
        ticket_url=read_optional(triage, "ticket_url"),
        owner=read_optional(triage, "owner"),
        updated_by=read_optional(triage, "updated_by"),
        updated_at=_datetime_field(triage, "updated_at"),
    )


_READERS: Mapping[str, tuple[Callable[[], Message], Callable[[Any, datetime], Snapshot | None]]] = {
    message.DESCRIPTOR.full_name: (message, read)
    for message, read in (
        (executor.RunChanged, _run_snapshot),
        (executor.ExecutionChanged, _execution_snapshot),
        (catalog.AppChanged, _app_snapshot),
        (catalog.BuildChanged, _build_snapshot),
        (catalog.TestChanged, _test_snapshot),
        (catalog.AttachmentChanged, _attachment_snapshot),
        (catalog.FailureTriageChanged, _triage_snapshot),
    )
}
