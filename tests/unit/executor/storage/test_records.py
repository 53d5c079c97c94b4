"""Dataclasses round-trip through documents."""

from dataclasses import replace

from mobiletest_automation.model.run_config import DEFAULTS
from services.executor.model import lifecycle
from services.executor.model.attribution import Ci
from services.executor.model.executions import Execution
from services.executor.model.runs import TestFile
from services.executor.storage.records import (
    execution_document,
    execution_of,
    from_document,
    plan_document,
    plan_of,
    run_document,
    run_of,
    to_document,
)
from tests.fakes.executor import plan
from tests.unit.executor.model import builders
from tests.unit.executor.model.builders import LIMITS, NOW, claimed_run, failing, later, new_run, queued_run


def test_runs_round_trip_in_every_state() -> None:
    ended = lifecycle.finish(claimed_run(), 1, failing(), later(1), LIMITS)
    for run in (new_run(), queued_run(), claimed_run(), ended, lifecycle.request_cancel(ended, later(2))):
        assert run_of(run_document(run, LIMITS)) == run


def test_executions_round_trip() -> None:
    execution = replace(builders.execution_of(queued_run()), ci=Ci(branch="main"), run_config=DEFAULTS, app_ids=("a",))
    assert execution_of(execution_document(execution)) == execution


def test_plans_round_trip_with_any_steps() -> None:
    steps = ({"tapOn": {"$gt": "", "a.b": [None, 1, 1.5]}}, "Tap")
    made = replace(plan(), steps=steps, files=(TestFile("p/cat.png", "ab" * 32),))
    assert plan_of(plan_document(new_run(), made)) == made


def test_absent_fields_are_none_or_the_default() -> None:
    document = to_document(builders.execution_of())
    assert "workflow_id" not in document
    assert "success" not in document
    assert from_document(Execution, document).workflow_id is None


def test_only_claimable_and_due_runs_have_index_fields() -> None:
    assert {"claimable_at", "queue", "due_at"} <= run_document(queued_run(), LIMITS).keys()
    assert {"claimable_at", "queue"}.isdisjoint(run_document(claimed_run(), LIMITS))
    assert run_document(claimed_run(), LIMITS)["leased_platform"] == "iOS"
    assert run_document(claimed_run(), LIMITS)["due_at"] == NOW + LIMITS.lease_ttl
    ended = lifecycle.request_cancel(new_run(), NOW)
    assert {"claimable_at", "queue", "due_at", "leased_platform"}.isdisjoint(run_document(ended, LIMITS))


def test_queue_names_sort_by_rank() -> None:
    def queue(priority: int) -> str:
        return str(run_document(replace(queued_run(), priority=priority, org_id="o"), LIMITS)["queue"])

    begun = lifecycle.hand_back(claimed := claimed_run(), claimed.fencing_token, NOW)
    assert run_document(replace(begun, org_id="o"), LIMITS)["queue"] == "iOS/00/o"
    assert [queue(10), queue(0), queue(-10)] == ["iOS/01/o", "iOS/11/o", "iOS/21/o"]
