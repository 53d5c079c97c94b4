"""Events of executions: those of runs that start together are copies of one message."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from mobiletest.executor.v1 import events_pb2

from services.chassis.errors import InvalidArgument
from services.chassis.events import Event
from services.chassis.ids import new_id
from services.chassis.outbox import Outbox
from services.executor.events import events_of, run_changed_message
from services.executor.model import lifecycle
from services.executor.model.attribution import ExecutionSource
from services.executor.model.changes import Change, start_execution
from services.executor.model.executions import Execution, ExecutionKind
from services.executor.model.failures import NO_PLATFORM
from services.executor.model.runs import Platform, Run, RunTarget
from services.executor.model.states import Status
from tests.fakes.no_database import no_database

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
APP, BUILD = new_id(), new_id()


@pytest.fixture
def outbox() -> Outbox:
    return Outbox(no_database(), "tests")


def a_target(name: str) -> RunTarget:
    return RunTarget(new_id(), name, len(name), Platform.ANDROID, APP, "Shop", BUILD, "1.0", NOW)


def a_start(*runs: Run) -> Change:
    execution = Execution(
        id=new_id(), org_id="org", kind=ExecutionKind.WORKFLOW, source=ExecutionSource.API, created_at=NOW
    )
    return start_execution(execution, [replace(run, execution_id=execution.id) for run in runs], NOW)


def a_run(target: RunTarget, position: int = 0) -> Run:
    run = Run(id=new_id(), execution_id="", org_id="org", position=position, target=target, retries=0, created_at=NOW)
    return lifecycle.queue(run, NOW)


def messages(events: list[Event]) -> list[events_pb2.RunChanged]:
    made = [event for event in events if event.type == events_pb2.RunChanged.DESCRIPTOR.full_name]
    return [events_pb2.RunChanged.FromString(event.payload) for event in made]


def test_runs_that_start_together_have_the_messages_that_each_would_have_alone(outbox: Outbox) -> None:
    elsewhere = replace(a_target("on iOS"), platform=Platform.IOS, app_id=new_id(), build_id=new_id())
    waiting = replace(a_run(a_target("later")), queued_at=None, claimable_at=None, status=Status.INITIALIZED)
    rebuilt = replace(a_target("rebuilt"), resolved_build_version="1.1", build_uploaded_at=None)
    nowhere = replace(a_target("nowhere"), platform=None, app_id=None, build_id=None, resolved_build_version=None)
    failed = lifecycle.end(replace(waiting, id=new_id(), target=nowhere), NO_PLATFORM, NOW)
    runs = [a_run(a_target("a")), a_run(elsewhere), failed, a_run(a_target("bb")), waiting, a_run(rebuilt)]
    runs += [a_run(replace(elsewhere, test_id=new_id())), replace(waiting, id=new_id()), a_run(a_target("ccc"))]
    change = a_start(*runs)
    alone = [run_changed_message(change.execution, fact.run, fact.sequence) for fact in change.facts]
    assert messages(events_of(change, outbox.event)) == alone


def test_each_run_that_starts_is_requested(outbox: Outbox) -> None:
    change = a_start(a_run(a_target("a")), a_run(a_target("b")))
    events = events_of(change, outbox.event)[-2:]
    requests = [events_pb2.RunRequested.FromString(event.payload) for event in events]
    assert [(each.run_id, each.org_id, each.execution_id) for each in requests] == [
        (run.id, "org", change.execution.id) for run in change.runs
    ]


@pytest.mark.parametrize("position", [0, 1, 2])
def test_an_invalid_id_of_a_test_is_refused_whichever_run_has_it(outbox: Outbox, position: int) -> None:
    runs = [a_run(a_target("a")), a_run(a_target("b")), a_run(a_target("c"))]
    runs[position] = replace(runs[position], target=replace(runs[position].target, test_id="no id"))
    with pytest.raises(InvalidArgument, match="test_id"):
        events_of(a_start(*runs), outbox.event)
