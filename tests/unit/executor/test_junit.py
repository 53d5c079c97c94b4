"""The JUnit XML of an execution, read back with a parser and as text."""

import re
from dataclasses import replace
from xml.etree import ElementTree

from junitparser.xunit2 import JUnitXml, TestCase

from services.executor import junit
from services.executor.model import lifecycle
from services.executor.model.attempts import Artifact, ArtifactGone, AttemptResult, StepResult, StepStatus
from services.executor.model.failures import Category, Failure
from services.executor.model.reports import metadata
from services.executor.model.runs import Run
from tests.unit.executor.model.builders import LIMITS, NOW, claimed_run, execution_of, failing, later, new_run, passing


def finish(run: Run, result: AttemptResult) -> Run:
    return lifecycle.finish(run, run.fencing_token, result, later(2), LIMITS)


def claim(run: Run) -> Run:
    return lifecycle.claim(run, "worker-2", later(2), LIMITS)


def rendered(*runs: Run) -> ElementTree.Element:
    return ElementTree.fromstring(junit.render(execution_of(*runs), runs))  # noqa: S314 (our own output)


def case(run: Run) -> ElementTree.Element:
    found = rendered(run).find("testsuite/testcase")
    assert found is not None
    return found


def children(element: ElementTree.Element) -> list[str]:
    return [child.tag for child in element if child.tag not in ("properties", "system-out")]


def test_a_run_that_has_not_met_a_device_says_nothing_about_it() -> None:
    unmet = finish(claimed_run(), AttemptResult(failure=Failure(Category.CONFIG_INVALID, "no app")))
    for run in (claimed_run(), unmet):
        names = {element.get("name") for element in case(run).iter("property")}
        assert names.isdisjoint({"device", "simulated"})
        assert "simulated" not in metadata(execution_of(run), run)


def test_one_testcase_per_run_with_totals() -> None:
    passed, failed = finish(claimed_run(), passing()), finish(claimed_run(retries=0), failing())
    broken = finish(claimed_run(), failing(Category.CONFIG_INVALID))
    cancelled = lifecycle.request_cancel(new_run(), NOW)
    suite = rendered(passed, failed, broken, cancelled).find("testsuite")
    assert suite is not None
    assert {name: suite.get(name) for name in ("name", "tests", "failures", "errors", "skipped")} == {
        "name": "Nightly",
        "tests": "4",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
    }
    assert [children(element) for element in suite.iter("testcase")] == [[], ["failure"], ["error"], ["skipped"]]


def test_a_failure_has_category_message_and_steps() -> None:
    steps = (
        StepResult(index=0, kind="sentence", text='Tap "Log in"', status=StepStatus.PASSED, started_at=NOW),
        StepResult(
            index=1, kind="sentence", text="See Welcome", status=StepStatus.FAILED, message="Not there", started_at=NOW
        ),
    )
    run = finish(claimed_run(retries=0), replace(failing(), steps=steps))
    failure = case(run).find("failure")
    assert failure is not None
    assert failure.get("type") == "assertion_failed"
    assert failure.get("message") == "It was assertion_failed."
    assert "2. See Welcome [failed]: Not there" in (failure.text or "")


def test_a_flaky_run_passes_and_lists_its_failed_attempt() -> None:
    element = case(finish(claim(finish(claimed_run(), failing())), passing()))
    assert children(element) == ["flakyFailure"]


def test_earlier_attempts_of_a_failed_run_are_reruns() -> None:
    lost = lifecycle.expire(claimed_run(), later(16), LIMITS)
    retried = finish(lifecycle.claim(lost, "worker-2", later(18), LIMITS), failing())
    element = case(finish(lifecycle.claim(retried, "worker-2", later(18), LIMITS), failing()))
    assert children(element) == ["failure", "rerunFailure", "rerunError"]


def test_an_attempt_handed_back_is_left_out() -> None:
    run = claimed_run()
    back = lifecycle.hand_back(run, run.fencing_token, later(2))
    assert children(case(finish(claim(back), passing()))) == []


def test_properties_name_test_build_device_and_category() -> None:
    run = finish(claimed_run(retries=0), failing())
    found = {p.get("name"): p.get("value") for p in case(run).iter("property")}
    assert found["device"] == "phone-1"
    assert found["run_id"] == run.id
    assert "execution_id" in found
    assert found["simulated"] == "true"
    assert found["category"] == "assertion_failed"
    assert found["test_id"] == run.target.test_id
    assert found["attempts"] == "1"


def test_characters_that_xml_cannot_represent_are_replaced() -> None:
    failure = Failure(Category.UNKNOWN, "bad \x00\x1b[31m ]]> <&> \ud800 end")
    error = case(finish(claimed_run(), AttemptResult(failure=failure))).find("error")
    assert error is not None
    assert error.get("message") == "bad \ufffd\ufffd[31m ]]> <&> \ufffd end"


def test_an_unfinished_run_is_skipped() -> None:
    assert children(case(claimed_run())) == ["skipped"]


SUREFIRE = (
    *("properties", "failure", "rerunFailure", "flakyFailure", "skipped", "error", "rerunError", "flakyError"),
    *("system-out", "system-err"),
)
"""The order of a testcase's elements in Maven Surefire's schema, which has no properties."""


def every_kind_of_run() -> list[Run]:
    lost = lifecycle.expire(claimed_run(), later(16), LIMITS)
    retried = finish(lifecycle.claim(lost, "worker-2", later(18), LIMITS), failing())
    again = lifecycle.claim(retried, "worker-2", later(18), LIMITS)
    return [
        finish(claimed_run(), passing()),
        finish(claim(finish(claimed_run(), failing())), passing()),
        finish(again, failing()),
        finish(again, passing()),
        finish(claimed_run(), failing(Category.CONFIG_INVALID)),
        lifecycle.request_cancel(new_run(), NOW),
        claimed_run(),
    ]


def test_elements_and_times_follow_the_surefire_schema() -> None:
    root = rendered(*every_kind_of_run())
    for element in root.iter("testcase"):
        tags = [child.tag for child in element]
        assert tags == sorted(tags, key=SUREFIRE.index)
        assert set(element.keys()) == {"name", "classname", "time"}
    for element in root.iter():
        assert re.fullmatch(r"[0-9]+(\.[0-9]{0,3})?", element.get("time", "0"))
        if element.tag in SUREFIRE[1:8] and element.tag != "skipped":
            assert element.get("type")
    for name in SUREFIRE:
        if name.startswith(("rerun", "flaky")):
            assert {tuple(child.tag for child in element) for element in root.iter(name)} == {("stackTrace",)}


def test_junitparser_reads_the_same_results() -> None:
    runs = every_kind_of_run()
    [suite] = JUnitXml.fromstring(junit.render(execution_of(*runs), runs).decode())
    cases = [TestCase.fromelem(found) for found in suite]
    assert [found.is_passed for found in cases] == [True, True, False, True, False, False, False]
    assert [[type(said).__name__ for said in found.interim_result] for found in cases] == [
        [],
        ["FlakyFailure"],
        ["RerunFailure", "RerunError"],
        ["FlakyFailure", "FlakyError"],
        [],
        [],
        [],
    ]


def test_the_output_is_ascii() -> None:
    failure = Failure(Category.UNKNOWN, "Größe – 例")
    run = finish(claimed_run(), AttemptResult(failure=failure))
    content = junit.render(execution_of(run), [run])
    assert content.isascii()
    assert content.startswith(b"<testsuites")
    error = case(run).find("error")
    assert error is not None
    assert error.get("message") == "Größe – 例"


def test_every_attempt_lists_its_steps_and_artifact_urls() -> None:
    kept = Artifact("attempt-1-step-000.png", "screenshot", "image/png", 9)
    gone = Artifact("attempt-1-log.txt", "log", "text/plain", 3, ArtifactGone.EXPIRED)
    steps = (
        StepResult(index=0, kind="retry", text="retry", status=StepStatus.FAILED, started_at=NOW),
        StepResult(index=1, kind="sentence", text="Tap Pay", status=StepStatus.FAILED, depth=1, started_at=NOW),
    )
    first = finish(claimed_run(), replace(failing(), steps=steps, artifacts=(kept, gone)))
    run = finish(claim(first), passing())
    told = case(run).findtext("system-out")
    assert told is not None
    assert told.splitlines() == [
        "attempt 1 on phone-1, worker worker-1",
        "1. retry [failed]",
        "  2. Tap Pay [failed]",
        "screenshot attempt-1-step-000.png (image/png, 9 bytes): "
        f"/api/v1/executions/{run.execution_id}/runs/{run.id}/artifacts/attempt-1-step-000.png",
        "log attempt-1-log.txt (text/plain, 3 bytes): expired",
        "",
        "attempt 2 on phone-1, worker worker-2",
    ]
