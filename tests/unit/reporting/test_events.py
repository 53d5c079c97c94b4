"""Events become snapshots; what can never be one is named."""

import gc
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct
from mobiletest.catalog.v1 import events_pb2 as catalog
from mobiletest.executor.v1 import events_pb2 as executor
from mobiletest.executor.v1 import executions_pb2, runs_pb2
from mobiletest.reporting.v1 import reports_pb2
from mobiletest.types.v1 import execution_pb2, quarantine_pb2, source_position_pb2, variant_pb2

from services.chassis.events import Event, InvalidMessage
from services.reporting.consumer import EventHandler
from services.reporting.events import parse_event
from services.reporting.model.attempts import BuildRef
from services.reporting.model.snapshots import (
    AppSnapshot,
    AttachmentSnapshot,
    BuildSnapshot,
    ExecutionSnapshot,
    Failure,
    Quarantine,
    RunSnapshot,
    Simulation,
    Status,
    TestSnapshot,
)
from services.reporting.model.variants import EMPTY_VARIANT, Variant
from services.reporting.usecases.projector import Projector
from tests.fakes.reporting_event_log import event as publish
from tests.fakes.reporting_projections import RecordingProjections

TOLD_AT = datetime(2026, 11, 20, 10, tzinfo=UTC)
STARTED = datetime(2026, 11, 20, 9, 0, 0, 123000, tzinfo=UTC)
ENDED = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


def event(message: Message, *, payload: bytes | None = None, type_name: str | None = None) -> Event:
    made = publish("a-topic", "key", message, at=TOLD_AT)
    return replace(made, type=type_name or made.type, payload=made.payload if payload is None else payload)


def run_changed(**changes: Any) -> executor.RunChanged:
    metadata = Struct()
    metadata.update({"branch": "main", "attempts": 2})
    values: dict[str, Any] = {
        "id": "run-1",
        "execution_id": "execution-1",
        "test_id": "test-1",
        "test_name": "Log in",
        "test_version_number": 3,
        "app_id": "app-1",
        "build_id": "build-1",
        "resolved_build_version": "1.4",
        "status": execution_pb2.EXECUTION_STATUS_COMPLETED,
        "success": False,
        "source": execution_pb2.EXECUTION_SOURCE_CI,
        "started_at": STARTED,
        "completed_at": ENDED,
        "execution_time_seconds": 12.5,
        "metadata": metadata,
        "attempts": [
            attempt(1, execution_pb2.EXECUTION_STATUS_FAILED, failure=failure("SESSION_LOST", "hub gone")),
            attempt(2, execution_pb2.EXECUTION_STATUS_COMPLETED, success=False, failure=failure("APP_CRASH", "crash")),
        ],
    }
    run = runs_pb2.Run(**values | changes)
    return executor.RunChanged(
        org_id="org-1", revision=7, sequence=9, run=run, build_uploaded_at=STARTED, branch="main"
    )


def attempt(number: int, status: Any, **values: Any) -> runs_pb2.Attempt:
    return runs_pb2.Attempt(number=number, status=status, started_at=STARTED, **values)


def failure(category: str, message: str) -> runs_pb2.Failure:
    number: Any = execution_pb2.FailureCategory.Value(f"FAILURE_CATEGORY_{category}")
    return runs_pb2.Failure(category=number, message=message, step_kind="tapOn", step_index=2)


def told_run(message: executor.RunChanged) -> RunSnapshot:
    told = parse_event(event(message))
    assert isinstance(told, RunSnapshot)
    return told


def test_a_run() -> None:
    run = told_run(run_changed())
    assert (run.run_id, run.org_id, run.revision, run.execution_id) == ("run-1", "org-1", 7, "execution-1")
    assert (run.test_id, run.test_name, run.test_version) == ("test-1", "Log in", 3)
    assert (run.app_id, run.build, run.branch) == ("app-1", BuildRef(STARTED, "build-1", "1.4"), "main")
    assert (run.status, run.success, run.seconds) == (Status.COMPLETED, False, 12.5)
    assert (run.started_at, run.completed_at, run.event_time) == (STARTED, ENDED, TOLD_AT)
    assert run.last_failure == Failure("app_crash", "crash", "tapOn", 2)


def test_where_a_step_is_written() -> None:
    position = source_position_pb2.SourcePosition(file="pay.yaml", line=12, column=3)
    run = told_run(run_changed(attempts=[], failure=runs_pb2.Failure(message="crash", position=position)))
    assert run.last_failure == Failure("unknown", "crash", position=("pay.yaml", 12, 3))


def test_only_attempts_with_a_verdict_are_decided() -> None:
    assert [item.passed for item in told_run(run_changed()).attempts] == [None, False]


@pytest.mark.parametrize(("flaky", "verdicts"), [(True, [False, True]), (False, [None, True])])
def test_failures_before_a_pass_that_is_not_flaky_have_no_verdict(flaky: bool, verdicts: list[bool | None]) -> None:
    report = Struct()
    report.update({"flaky": flaky})
    failed = attempt(
        1, execution_pb2.EXECUTION_STATUS_COMPLETED, success=False, failure=failure("SCRIPT_ERROR", "needs a model")
    )
    passed = attempt(2, execution_pb2.EXECUTION_STATUS_COMPLETED, success=True)
    message = run_changed(attempts=[failed, passed], success=True, report_metadata=report)
    assert [item.passed for item in told_run(message).attempts] == verdicts


def test_a_run_becomes_a_list_item_of_the_contract() -> None:
    item = reports_pb2.BuildRunItem.FromString(told_run(run_changed()).list_item)
    assert (item.run_id, item.execution_id, item.test_id, item.test_name) == (
        "run-1",
        "execution-1",
        "test-1",
        "Log in",
    )
    assert item.status == execution_pb2.EXECUTION_STATUS_COMPLETED
    assert item.source == execution_pb2.EXECUTION_SOURCE_CI
    assert (item.success, item.execution_time_seconds, item.resolved_build_version) == (False, 12.5, "1.4")
    assert item.completed_at.ToDatetime(tzinfo=UTC) == ENDED
    assert dict(item.metadata) == {"branch": "main", "attempts": 2.0}


@pytest.mark.parametrize(
    ("said", "simulation"),
    [
        ({}, None),
        ({"simulated": False}, None),
        ({"simulated": True}, Simulation.MODEL),
        ({"simulated": True, "built_in_model": False}, Simulation.MODEL),
        ({"simulated": True, "built_in_model": True}, Simulation.BUILT_IN_MODEL),
    ],
)
def test_the_last_attempt_says_what_a_simulated_device_ran(
    said: dict[str, bool], simulation: Simulation | None
) -> None:
    first = attempt(1, execution_pb2.EXECUTION_STATUS_FAILED, simulated=True, built_in_model=True)
    last = attempt(2, execution_pb2.EXECUTION_STATUS_COMPLETED, success=True, **said)
    assert told_run(run_changed(attempts=[first, last])).simulation is simulation
    assert told_run(run_changed(attempts=[])).simulation is None


def test_a_run_says_whether_its_steps_have_bound_other_elements() -> None:
    message = run_changed()
    assert not told_run(message).bindings_changed
    message.run.report_metadata.update({"bindings_changed": [{"step_index": 2, "message": "it bound another one"}]})
    assert told_run(message).bindings_changed


def test_runs_and_executions_that_check_a_proposal_are_no_results() -> None:
    message = run_changed()
    message.run.verifies = "run-1"
    assert parse_event(event(message)) is None
    execution = executions_pb2.Execution(id="execution-1", verifies="run-1")
    assert parse_event(event(executor.ExecutionChanged(org_id="org-1", sequence=1, execution=execution))) is None


def test_a_run_in_a_variant_has_a_subject_of_its_own() -> None:
    """The values of an old event are none, and those of a wrong type are left out."""
    assert told_run(run_changed()).subject == "test-1"
    values = Struct()
    values.update({"LOCALE": "de", "NUMBER": 3})
    run = told_run(run_changed(variant=variant_pb2.Variant(id="0a1b", values=values)))
    assert (run.subject, run.variant) == ("test-1@0a1b", Variant("0a1b", {"LOCALE": "de"}))
    assert reports_pb2.BuildRunItem.FromString(run.list_item).variant.values["LOCALE"] == "de"
    assert told_run(run_changed(variant=variant_pb2.Variant(left_out=["RUN"]))).variant == EMPTY_VARIANT


def test_a_queued_run_without_app_and_build() -> None:
    message = executor.RunChanged(
        org_id="org-1",
        revision=1,
        run=runs_pb2.Run(id="run-1", execution_id="e", test_id="t", status=execution_pb2.EXECUTION_STATUS_QUEUED),
    )
    run = told_run(message)
    assert (run.app_id, run.build, run.outcome, run.branch) == (None, None, None, None)
    item = reports_pb2.BuildRunItem.FromString(run.list_item)
    assert not item.HasField("started_at")
    assert not item.HasField("resolved_build_version")


def test_an_execution() -> None:
    execution = executions_pb2.Execution(id="e", counts=executions_pb2.RunCounts(total=4))
    message = executor.ExecutionChanged(org_id="org-1", sequence=3, execution=execution)
    assert parse_event(event(message)) == ExecutionSnapshot("e", "org-1", 3, 4)


def test_catalog_events() -> None:
    app = catalog.AppChanged(org_id="o", app_id="a", revision=2, name="Shop", current_version="1.0")
    assert parse_event(event(app)) == AppSnapshot("a", "o", 2, False, "Shop", "1.0")
    build = catalog.BuildChanged(org_id="o", app_id="a", build_id="b", revision=1, version="1.0", uploaded_at=STARTED)
    assert parse_event(event(build)) == BuildSnapshot("b", "o", 1, False, "a", "1.0", STARTED)
    test = catalog.TestChanged(org_id="o", test_id="t", revision=5, deleted=True, name="Log in")
    assert parse_event(event(test)) == TestSnapshot("t", "o", 5, True, "Log in")
    tie = catalog.AttachmentChanged(org_id="o", app_id="a", test_id="t", revision=1, attached=True, test_name="Log in")
    assert parse_event(event(tie)) == AttachmentSnapshot("a", "t", "o", 1, True, None, "Log in")


def test_a_test_with_all_fields() -> None:
    """Platform, tags, version of the steps, creation, and a quarantine, be it over or not."""
    message = catalog.TestChanged(
        org_id="o", test_id="t", revision=5, name="Log in", platform="PLATFORM_IOS", tags=["smoke"], version_number=3
    )
    message.created_at.FromDatetime(STARTED)
    message.quarantine.CopyFrom(quarantine())
    assert parse_event(event(message)) == TestSnapshot(
        *("t", "o", 5, False, "Log in"),
        platform="iOS",
        tags=("smoke",),
        version=3,
        created_at=STARTED,
        quarantine=Quarantine("Waits for SHOP-1", STARTED + timedelta(days=14), "CI", STARTED),
    )


def quarantine(*without: str) -> quarantine_pb2.Quarantine:
    """A quarantine as it is told, without these fields."""
    message = quarantine_pb2.Quarantine(reason="Waits for SHOP-1", by="CI")
    message.since.FromDatetime(STARTED)
    message.until.FromDatetime(STARTED + timedelta(days=14))
    for name in without:
        message.ClearField(name)  # type: ignore[arg-type]
    return message


def test_an_unknown_type_is_ignored() -> None:
    assert parse_event(event(run_changed(), type_name="mobiletest.executor.v2.RunChanged")) is None


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (event(run_changed(), payload=b"\xff\xff\xff"), "UNDECODABLE"),
        (event(run_changed(), payload=run_changed().SerializeToString()[:-3]), "UNDECODABLE"),
        (event(run_changed(), payload=b""), "INVALID_FIELD"),
        (event(run_changed(id="")), "INVALID_FIELD"),
        (event(run_changed(test_id="a:b")), "INVALID_FIELD"),
        (event(run_changed(status=0)), "INVALID_FIELD"),
        (event(run_changed(status=99)), "INVALID_FIELD"),
        (event(run_changed(execution_time_seconds=math.nan)), "INVALID_FIELD"),
        (event(run_changed(execution_time_seconds=math.inf)), "INVALID_FIELD"),
        (event(run_changed(execution_time_seconds=-1.0)), "INVALID_FIELD"),
        (event(catalog.AppChanged(org_id="o")), "INVALID_FIELD"),
        (event(catalog.AppChanged(app_id="a")), "INVALID_FIELD"),
        (event(catalog.TestChanged(org_id="o", test_id="t", quarantine=quarantine("until"))), "INVALID_FIELD"),
        (event(catalog.TestChanged(org_id="o", test_id="t", quarantine=quarantine("since"))), "INVALID_FIELD"),
    ],
)
def test_invalid_events_are_named(bad: Event, reason: str) -> None:
    with pytest.raises(InvalidMessage) as caught:
        parse_event(bad)
    assert (caught.value.reason, caught.value.event) == (reason, bad)


async def test_invalid_events_of_a_batch_are_named_and_the_others_applied() -> None:
    folds = RecordingProjections()
    bad, unknown = event(run_changed(), payload=b"\xff"), event(run_changed(), type_name="else")
    refused = await EventHandler(Projector(folds)).handle([event(run_changed()), bad, unknown, bad])
    assert [error.event for error in refused] == [bad, bad]
    (saved,) = folds.saved
    assert saved.runs.get("run-1") is not None


async def test_a_batch_of_nothing_but_invalid_events_writes_nothing() -> None:
    folds = RecordingProjections()
    assert len(await EventHandler(Projector(folds)).handle([event(run_changed(), payload=b"\xff")] * 1000)) == 1000
    assert folds.saved == []


async def test_collections_of_cycles_pause_only_while_a_batch_is_folded() -> None:
    enabled: list[bool] = []

    class Failing(RecordingProjections):
        async def transaction(self, work: object) -> None:
            enabled.append(gc.isenabled())
            raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        await EventHandler(Projector(Failing())).handle([event(run_changed())])
    assert enabled == [False]
    assert gc.isenabled()


def test_long_names_are_truncated() -> None:
    """Windows hold many of them in one document, which has a largest size."""
    endless = "x" * 100_000
    failure = runs_pb2.Failure(message="no", step_kind=endless)
    run = parse_event(event(run_changed(test_name=endless, resolved_build_version=endless, failure=failure)))
    assert isinstance(run, RunSnapshot)
    assert run.build is not None
    assert run.failure is not None
    assert {len(text) for text in (run.test_name, run.build.version, run.failure.step_kind)} == {1000}
