"""The metadata and report_metadata of a run."""

from dataclasses import replace

from mobiletest_automation.model.failures import Failure
from mobiletest_automation.model.results import Artifact, ArtifactGone
from services.executor.model import lifecycle
from services.executor.model.attribution import Ci
from services.executor.model.reports import artifact_url, metadata, report_metadata, simulation
from services.executor.model.runs import Run
from tests.unit.executor.model.builders import LIMITS, claimed_run, execution_of, failing, later, new_run, passing


def finished(run: Run, *, artifacts: tuple[Artifact, ...] = (), passes: bool = False) -> Run:
    result = replace(passing() if passes else failing(), artifacts=artifacts)
    return lifecycle.finish(run, run.fencing_token, result, later(1), LIMITS)


def test_metadata_has_the_origin_and_device_of_a_run() -> None:
    run = finished(claimed_run())
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
    run = finished(claimed_run(), artifacts=(kept, replace(gone, gone=ArtifactGone.EXPIRED)))
    links = report_metadata(run)["artifacts"]
    assert isinstance(links, list)
    assert [link["name"] for link in links] == ["a.png"]
    assert [artifact_url(run, artifact) for artifact in run.attempts[0].artifacts][1] == ""


def test_report_metadata_of_a_flaky_run_lists_its_artifacts() -> None:
    shot = Artifact("1-3.png", "screenshot", "image/png", 10)
    first = finished(claimed_run(), artifacts=(shot,))
    run = finished(lifecycle.claim(first, "worker-1", later(1), LIMITS), passes=True)
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


def test_report_metadata_of_a_failed_run_prefers_the_short_reason() -> None:
    run = finished(claimed_run(retries=0))
    assert report_metadata(run)["top_failure"] == "It was assertion_failed."
    assert run.failure is not None
    short = replace(run, failure=Failure(run.failure.category, "long", reason="short"))
    assert report_metadata(short)["category"] == "assertion_failed"
    assert report_metadata(short)["top_failure"] == "short"
