"""In which order and groups the runs of an execution are when the worst come first."""

from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.states import Status
from services.executor.model.run_groups import RunStanding, RunState, group_runs


def test_the_worst_come_first() -> None:
    states = [
        RunState("passed", Status.COMPLETED, True, 1),
        RunState("cancelled", Status.CANCELLED),
        RunState("queued", Status.QUEUED),
        RunState("running", Status.RUNNING),
        RunState("retried", Status.COMPLETED, True, 2),
        RunState("broken", Status.FAILED, None, 1, Category.DEVICE_UNAVAILABLE, "No phone."),
        RunState("failed", Status.COMPLETED, False, 1, Category.ASSERTION_FAILED, "Not there."),
    ]
    groups = group_runs(states)
    assert [group.standing for group in groups] == list(RunStanding)
    assert [run_id for group in groups for run_id in group.run_ids] == [
        "failed",
        "broken",
        "retried",
        "running",
        "queued",
        "cancelled",
        "passed",
    ]


def test_a_verdict_that_is_not_known_is_no_pass() -> None:
    assert RunState("x", Status.COMPLETED).standing is RunStanding.FAILED


def test_runs_of_one_reason_are_one_group_and_the_largest_group_comes_first() -> None:
    alone = RunState("alone", Status.FAILED, None, 1, Category.DEVICE_UNAVAILABLE, "No phone.")
    same = [RunState(f"{n}", Status.FAILED, None, 1, Category.SCRIPT_ERROR, "No value.") for n in range(120)]
    first, second = group_runs([alone, *same])
    assert (first.reason, len(first.run_ids), list(first.run_ids)[:2]) == ("No value.", 120, ["0", "1"])
    assert second.run_ids == ["alone"]
