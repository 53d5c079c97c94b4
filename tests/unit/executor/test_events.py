"""Events of executions: those of runs that start together are copies of one message."""

from dataclasses import replace
from typing import Any

import pytest
from mobiletest.executor.v1 import events_pb2

from mobiletest_automation.model.devices import Platform
from mobiletest_automation.model.failures import NO_PLATFORM
from mobiletest_automation.model.states import Status
from mobiletest_automation.model.variants import Variant
from services.chassis.errors import InvalidArgument
from services.chassis.events import Event
from services.chassis.ids import new_id
from services.chassis.outbox import Outbox
from services.executor.events import events_of, run_changed_message
from services.executor.model import lifecycle
from services.executor.model.changes import Change, start_execution
from services.executor.model.runs import Run, RunTarget
from tests.fakes.no_database import no_database
from tests.unit.executor.model.builders import NOW, execution_of, queued_run

APP, BUILD = new_id(), new_id()


def a_run(name: str, **target: Any) -> Run:
    """A run that can be claimed, of the same app and build as others unless its target has another."""
    built = RunTarget(new_id(), name, len(name), Platform.ANDROID, APP, "Shop", BUILD, "1.0", NOW)
    return replace(queued_run(), org_id="org", target=replace(built, **target))


def a_start(*runs: Run) -> Change:
    execution = replace(execution_of(), id=new_id())
    return start_execution(execution, [replace(run, execution_id=execution.id) for run in runs], NOW)


@pytest.fixture
def outbox() -> Outbox:
    return Outbox(no_database(), "tests")


def messages(events: list[Event]) -> list[events_pb2.RunChanged]:
    made = [event for event in events if event.type == events_pb2.RunChanged.DESCRIPTOR.full_name]
    return [events_pb2.RunChanged.FromString(event.payload) for event in made]


def test_runs_that_start_together_have_the_messages_that_each_would_have_alone(outbox: Outbox) -> None:
    elsewhere = {"platform": Platform.IOS, "app_id": new_id(), "build_id": new_id()}
    nowhere = dict.fromkeys(("platform", "app_id", "build_id", "resolved_build_version"))
    waiting = replace(a_run("later"), queued_at=None, claimable_at=None, status=Status.INITIALIZED)
    unfit = replace(waiting, id=new_id(), target=a_run("nowhere", **nowhere).target)
    runs = [a_run("a"), a_run("on iOS", **elsewhere), lifecycle.end(unfit, NO_PLATFORM, NOW), a_run("bb"), waiting]
    runs += [a_run("rebuilt", resolved_build_version="1.1", build_uploaded_at=None)]
    runs += [a_run("on iOS", **elsewhere), replace(waiting, id=new_id()), a_run("ccc")]
    german = Variant("1", {"LOCALE": "de"})
    runs += [a_run("imported", source_path=path) for path in ("a.yaml", "b.yaml", None)]
    runs += [replace(a_run(variant.label), variant=variant) for variant in (german, german, Variant("2"))]
    change = a_start(*runs)
    alone = [run_changed_message(change.execution, fact.run, fact.sequence) for fact in change.facts]
    assert messages(events_of(change, outbox.event)) == alone


def test_each_run_that_starts_is_requested(outbox: Outbox) -> None:
    change = a_start(a_run("a"), a_run("b"))
    events = events_of(change, outbox.event)[-2:]
    requests = [events_pb2.RunRequested.FromString(event.payload) for event in events]
    assert [(each.run_id, each.org_id, each.execution_id) for each in requests] == [
        (run.id, "org", change.execution.id) for run in change.runs
    ]


@pytest.mark.parametrize("position", [0, 1, 2])
def test_an_invalid_id_of_a_test_is_refused_whichever_run_has_it(outbox: Outbox, position: int) -> None:
    runs = [a_run("a"), a_run("b"), a_run("c")]
    runs[position] = a_run("d", test_id="no id")
    with pytest.raises(InvalidArgument, match="test_id"):
        events_of(a_start(*runs), outbox.event)
