"""What infrastructure did is counted and shown, and says nothing about the test."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mobiletest.executor.v1 import events_pb2, runs_pb2
from mobiletest.types.v1 import execution_pb2

from services.reporting.events import parse_event
from services.reporting.model.batch import Batch, Snapshot
from services.reporting.model.projection import fold
from services.reporting.model.snapshots import AttemptSnapshot, Failure, RunSnapshot, Status
from services.reporting.model.tables import History, Tables
from services.reporting.proto_enums import CATEGORY_NUMBER, INFRASTRUCTURE
from tests.fakes.reporting_attempts import NO_DEADLINE, START
from tests.fakes.reporting_event_log import event
from tests.fakes.reporting_story import NOW, Story
from tests.fakes.reporting_strategies import snapshot_lists

OURS = {
    "device_unavailable",
    "session_lost",
    "app_install_failed",
    "network_error",
    "llm_unavailable",
    "executor_lost",
    "queue_timeout",
}
ITS_OWN = {
    "assertion_failed",
    "element_not_found",
    "step_timeout",
    "app_crash",
    "app_not_responding",
    "app_launch_failed",
    "script_error",
    "goal_not_reached",
}


def test_the_categories_are_those_of_the_design() -> None:
    assert INFRASTRUCTURE == OURS
    assert CATEGORY_NUMBER.keys() > OURS | ITS_OWN


@pytest.mark.parametrize("category", sorted(CATEGORY_NUMBER))
@pytest.mark.parametrize("completed", [True, False])
def test_an_attempt_is_decided_by_a_failure_that_is_not_infrastructure(category: str, completed: bool) -> None:
    decided = completed and category not in OURS
    assert _attempt_of(category, completed=completed).passed is (False if decided else None)


def _attempt_of(category: str, *, completed: bool) -> AttemptSnapshot:
    status = execution_pb2.EXECUTION_STATUS_COMPLETED if completed else execution_pb2.EXECUTION_STATUS_FAILED
    attempt = runs_pb2.Attempt(number=1, status=status, success=False)
    attempt.failure.category = CATEGORY_NUMBER[category]
    run = runs_pb2.Run(id="r", execution_id="e", test_id="t", status=status, success=False, attempts=[attempt])
    payload = events_pb2.RunChanged(org_id="o", revision=1, run=run)
    told = parse_event(event("t", "e", payload))
    assert isinstance(told, RunSnapshot)
    return told.attempts[0]


async def test_runs_without_a_verdict_change_neither_score_nor_class_nor_sentence(story: Story) -> None:
    build = story.build("1.0")
    for ending in ("passed", "failed", "passed"):
        story.run("t", build, ending)
    before = _history(story.tables)
    for ending in ("infra", "cancelled", "infra"):
        story.run("t", build, ending, at=NOW + timedelta(hours=1))
    assert _history(story.tables).assessment == before.assessment


async def test_infrastructure_failures_are_not_a_storm(story: Story) -> None:
    """Five runs end without a verdict in the same way: nothing ran, so nothing failed alike."""
    build = story.build("1.0")
    lost = Failure("session_lost", "socket hang up")
    for number in range(5):
        story.run(f"t{number}", build, "infra", execution="e", failure=lost)
    story.execution("e", 5)
    row = story.tables.executions.get("e")
    assert row is not None
    assert row.storm is False


def _history(tables: Tables) -> History:
    (row,) = (history for _, history in tables.histories.rows())
    return row


@NO_DEADLINE
@given(snapshot_lists(), st.data())
def test_infrastructure_failures_change_no_assessment(told: list[Snapshot], data: st.DataObject) -> None:
    """Runs of infrastructure's are put among the others: what is judged stays, but what is known of storms."""
    verdicts = [one for one in told if not isinstance(one, RunSnapshot) or one.status is not Status.FAILED]
    ended = [one for one in told if isinstance(one, RunSnapshot) and one.status is Status.COMPLETED]
    which = data.draw(st.lists(st.integers(0, len(ended) - 1), max_size=5)) if ended else []
    let_down = [_let_down(ended[index]) for index in which]
    first, second = (_folded(facts) for facts in (verdicts, [*verdicts, *let_down]))
    for key, history in first.histories.rows():
        again = second.histories.get(key)
        assert again is not None
        assert (again.attempts, again.assessment) == (history.attempts, history.assessment)


def _let_down(run: RunSnapshot) -> RunSnapshot:
    """Another run of the same test in an execution of its own, which ended without a verdict."""
    attempts = (AttemptSnapshot(1, START, None, Failure("session_lost", "socket hang up")),)
    name = f"{run.run_id}-again"
    return replace(run, run_id=name, execution_id=name, status=Status.FAILED, success=None, attempts=attempts)


def _folded(told: list[Snapshot]) -> Tables:
    tables = Tables()
    fold(tables, Batch.of(told))
    return tables
