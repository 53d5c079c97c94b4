"""How the state of an execution follows from its runs."""

from dataclasses import replace

import pytest

from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import Artifact, ArtifactGone, BindingChange
from mobiletest_automation.model.states import RunCounts, Status, outcome
from services.chassis.proto_values import struct_to_json
from services.executor.messages import run_proto
from services.executor.model import lifecycle
from services.executor.model.attribution import Ci
from services.executor.model.executions import (
    Execution,
    apply_run_change,
    artifact_url,
    metadata,
    report_metadata,
    simulation,
    status_message,
)
from services.executor.model.runs import Run
from tests.unit.executor.model.builders import (
    LIMITS,
    claimed_run,
    execution_of,
    failing,
    later,
    new_run,
    passing,
    queued_run,
)


@pytest.mark.parametrize(
    ("counts", "cancel_requested", "expected"),
    [
        (RunCounts(total=2, passed=2), False, (Status.COMPLETED, True)),
        (RunCounts(total=2, passed=1, failed=1), False, (Status.COMPLETED, False)),
        (RunCounts(total=3, passed=1, failed=1, infra_failed=1), False, (Status.COMPLETED, False)),
        (RunCounts(total=2, passed=1, infra_failed=1), False, (Status.FAILED, None)),
        (RunCounts(total=3, passed=1, infra_failed=1, cancelled=1), False, (Status.FAILED, None)),
        (RunCounts(total=2, passed=1, cancelled=1), False, (Status.CANCELLED, None)),
        (RunCounts(total=4, passed=1, failed=1, infra_failed=1, cancelled=1), True, (Status.CANCELLED, None)),
        (RunCounts(total=2, passed=2), True, (Status.COMPLETED, True)),
        (RunCounts(total=2, passed=1, failed=1), True, (Status.COMPLETED, False)),
        (RunCounts(), False, (Status.FAILED, None)),
    ],
)
def test_the_outcome_follows_from_the_counts(
    counts: RunCounts, cancel_requested: bool, expected: tuple[Status, bool | None]
) -> None:
    assert outcome(counts, cancel_requested=cancel_requested) == expected


def claimed(execution: Execution, run: Run) -> tuple[Execution, Run]:
    after = lifecycle.claim(run, "worker-1", later(1), LIMITS)
    return apply_run_change(execution, run, after, later(1)), after


def finished(execution: Execution, run: Run, category: Category | None = None) -> tuple[Execution, Run]:
    result = failing(category) if category else passing()
    after = lifecycle.finish(run, run.fencing_token, result, later(3), LIMITS)
    return apply_run_change(execution, run, after, later(3)), after


def test_an_execution_starts_with_the_first_claim_and_ends_with_the_last_run() -> None:
    one, two = queued_run(), queued_run()
    execution, one = claimed(execution_of(one, two), one)
    assert (execution.status, execution.started_at) == (Status.RUNNING, later(1))
    assert execution.counts == RunCounts(total=2, queued=1, running=1)
    execution, one = finished(execution, one)
    assert (execution.status, execution.counts) == (Status.RUNNING, RunCounts(total=2, queued=1, passed=1))
    execution, two = finished(*claimed(execution, two))
    assert (execution.status, execution.success, execution.completed_at) == (Status.COMPLETED, True, later(3))
    assert execution.execution_time_seconds == 2.0


def test_a_retried_run_still_counts_as_running() -> None:
    run = queued_run()
    execution, run = finished(*claimed(execution_of(run), run), category=Category.ASSERTION_FAILED)
    assert (execution.status, execution.counts) == (Status.RUNNING, RunCounts(total=1, running=1))


def test_only_a_failed_execution_has_a_failure() -> None:
    run = queued_run()
    execution, _ = finished(*claimed(execution_of(run), run), category=Category.CONFIG_INVALID)
    assert execution.status is Status.FAILED
    assert execution.failure is not None
    assert execution.failure.category is Category.CONFIG_INVALID

    bad, good = queued_run(), replace(queued_run(), retries=0)
    execution, _ = finished(*claimed(execution_of(bad, good), bad), category=Category.CONFIG_INVALID)
    execution, _ = finished(*claimed(execution, good), category=Category.APP_CRASH)
    assert (execution.status, execution.success, execution.failure) == (Status.COMPLETED, False, None)


def test_the_message_describes_the_state() -> None:
    run = queued_run()
    execution = execution_of(run, queued_run())
    assert status_message(execution) == "Queued: 2 runs."
    execution, _ = finished(*claimed(execution, run))
    assert status_message(execution) == "Running: 1 of 2 runs ended."
    assert status_message(replace(execution, cancel_requested_at=later(1))) == "Cancelling: 1 of 2 runs ended."
    done = replace(execution, status=Status.COMPLETED, counts=RunCounts(total=3, passed=1, failed=2))
    assert status_message(done) == "Completed: 1 passed, 2 failed of 3 runs."
    broken = replace(execution, status=Status.FAILED, counts=RunCounts(total=1, infra_failed=1))
    assert status_message(broken) == "Failed: 1 ended without a verdict of 1 run."
    assert status_message(replace(broken, counts=RunCounts())) == "Failed: none of 0 runs."


def finished_run(run: Run, *, artifacts: tuple[Artifact, ...] = (), passes: bool = False) -> Run:
    result = replace(passing() if passes else failing(), artifacts=artifacts)
    return lifecycle.finish(run, run.fencing_token, result, later(1), LIMITS)


def test_metadata_has_the_origin_and_device_of_a_run() -> None:
    run = finished_run(claimed_run())
    execution = replace(
        execution_of(run),
        workflow_id="w",
        service_client="mobiletest-cli/1",
        ci=Ci(system="github", commit_sha="abc", branch="main", pr_number=7, repository="team/app"),
    )
    assert metadata(execution, run) == {
        "system": "github",
        "commit_sha": "abc",
        "branch": "main",
        "pr_number": 7,
        "repository": "team/app",
        "service_client": "mobiletest-cli/1",
        "workflow_id": "w",
        "attempts": 1,
        "platform": "iOS",
        "device": "phone-1",
        "simulated": True,
    }
    assert metadata(execution_of(), new_run()) == {"attempts": 0, "platform": "iOS"}


def simulated(built_in_model: bool | None) -> Run:
    run = claimed_run()
    result = replace(passing(), simulated=True, built_in_model=built_in_model)
    return lifecycle.finish(run, run.fencing_token, result, later(1), LIMITS)


def test_a_simulated_run_says_in_words_what_ran_instead_of_the_app() -> None:
    assert simulation(simulated(True)) == (
        "A simulated device ran its built-in model instead of the build: the result says nothing about the build."
    )
    assert simulation(simulated(False)) == "A simulated device ran a model of the app instead of the app (the build)."
    assert simulation(simulated(None)) == "A simulated device runs a model instead of the app (the build)."
    real = claimed_run()
    real = lifecycle.finish(real, real.fencing_token, replace(passing(), simulated=False), later(1), LIMITS)
    assert simulation(real) is simulation(claimed_run()) is None
    assert metadata(execution_of(), simulated(True))["built_in_model"] is True
    assert "built_in_model" not in metadata(execution_of(), real)


def test_artifacts_that_are_gone_have_no_link() -> None:
    kept, gone = Artifact("a.png", "screenshot", "image/png", 1), Artifact("b.png", "screenshot", "image/png", 1)
    run = finished_run(claimed_run(), artifacts=(kept, replace(gone, gone=ArtifactGone.EXPIRED)))
    links = report_metadata(run)["artifacts"]
    assert isinstance(links, list)
    assert [link["name"] for link in links] == ["a.png"]
    assert [artifact_url(run, artifact) for artifact in run.attempts[0].artifacts][1] == ""


def test_report_metadata_of_a_flaky_run_lists_its_artifacts() -> None:
    shot = Artifact("1-3.png", "screenshot", "image/png", 10)
    first = finished_run(claimed_run(), artifacts=(shot,))
    run = finished_run(lifecycle.claim(first, "worker-1", later(1), LIMITS), passes=True)
    assert report_metadata(run) == {
        "category": None,
        "top_failure": None,
        "flaky": True,
        "human_helped": False,
        "artifacts": [
            {
                "kind": "screenshot",
                "name": "1-3.png",
                "attempt": 1,
                "url": f"/api/v1/executions/{run.execution_id}/runs/{run.id}/artifacts/1-3.png",
            }
        ],
    }


def test_changed_bindings_are_those_of_a_run_that_passed() -> None:
    changed = replace(passing(), bindings_changed=(BindingChange(2, "the step bound another element"),))
    run = claimed_run()
    passed = lifecycle.finish(run, run.fencing_token, changed, later(1), LIMITS)
    expected = [{"step_index": 2, "message": "the step bound another element"}]
    assert report_metadata(passed)["bindings_changed"] == expected
    assert struct_to_json(run_proto(execution_of(passed), passed).report_metadata)["bindings_changed"] == expected
    assert "bindings_changed" not in report_metadata(replace(passed, success=False))
    assert "bindings_changed" not in report_metadata(finished_run(claimed_run(), passes=True))


def test_report_metadata_of_a_failed_run_prefers_the_short_reason() -> None:
    run = finished_run(claimed_run(retries=0))
    assert report_metadata(run)["top_failure"] == "It was assertion_failed."
    assert run.failure is not None
    short = replace(run, failure=Failure(run.failure.category, "long", reason="short"))
    assert report_metadata(short)["category"] == "assertion_failed"
    assert report_metadata(short)["top_failure"] == "short"
