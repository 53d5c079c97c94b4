"""The JUnit XML of an execution, read back with a parser and as text."""

import re
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any
from xml.etree import ElementTree

import pytest
from junitparser.xunit2 import JUnitXml, TestCase

from mobiletest_automation.flows.positions import SourcePosition
from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import (
    Artifact,
    ArtifactGone,
    AttemptResult,
    BindingChange,
    StepResult,
    StepStatus,
)
from mobiletest_automation.model.variants import Variant
from services.executor import junit
from services.executor.model import lifecycle
from services.executor.model.executions import metadata
from services.executor.model.runs import Run
from tests.hostile_texts import ANYTHING, commands, controls
from tests.unit.executor.model.builders import LIMITS, NOW, claimed_run, execution_of, failing, later, new_run, passing


def finish(run: Run, result: AttemptResult) -> Run:
    return lifecycle.finish(run, run.fencing_token, result, later(2), LIMITS)


def claim(run: Run) -> Run:
    return lifecycle.claim(run, "worker-2", later(18), LIMITS)


def rendered(*runs: Run) -> ElementTree.Element:
    return ElementTree.fromstring(junit.render(execution_of(*runs), runs, "https://tests.example"))  # noqa: S314 (our own output)


def case(run: Run) -> ElementTree.Element:
    element = rendered(run).find("testsuite/testcase")
    assert element is not None
    return element


def every_kind_of_run() -> list[Run]:
    retried = finish(claim(lifecycle.expire(claimed_run(), later(16), LIMITS)), failing())
    begun = claimed_run()
    return [
        finish(claimed_run(), passing()),
        finish(claim(finish(claimed_run(), failing())), passing()),
        finish(claim(retried), failing()),
        finish(claim(retried), passing()),
        finish(claim(lifecycle.hand_back(begun, begun.fencing_token, later(2))), passing()),
        finish(claimed_run(), failing(Category.CONFIG_INVALID)),
        lifecycle.request_cancel(new_run(), NOW),
        claimed_run(),
    ]


def test_tests_of_the_same_name_are_distinguished_by_their_files() -> None:
    """By classname and name, which is all that GitLab and Jenkins compare."""

    def of_flow(path: str | None) -> Run:
        run = new_run()
        return replace(run, target=replace(run.target, source_path=path))

    runs = [of_flow(path) for path in ("auth/login.yaml", "profile/login.yaml", "x/a.yaml", "x/a.yml", None, None)]
    cases = list(rendered(*runs).iter("testcase"))
    assert {each.get("name") for each in cases} == {"Log in"}
    assert [each.get("file") for each in cases] == [run.target.source_path for run in runs]
    assert [each.get("line") for each in cases] == ["1"] * 4 + [None] * 2
    assert [each.get("classname") for each in cases] == [
        "Shop.iOS.auth/login",
        "Shop.iOS.profile/login",
        *(f"Shop.iOS.x/a.{run.target.test_id}" for run in runs[2:4]),
        *(f"Shop.iOS.{run.target.test_id}" for run in runs[4:]),
    ]


AT = SourcePosition("shared/pay.yaml", 12, 3)


def a_failure_at(position: SourcePosition | None, *run_from: SourcePosition) -> ElementTree.Element:
    """The testcase of a flow of which every attempt failed there."""
    result = failing()
    assert result.failure is not None
    result = replace(result, failure=replace(result.failure, position=position, run_from=run_from))
    run = finish(claim(finish(claimed_run(retries=1), result)), result)
    return case(replace(run, target=replace(run.target, source_path="main.yaml")))


def test_a_failure_names_its_step_and_where_its_file_is_run_from() -> None:
    failed = a_failure_at(AT, SourcePosition("cart.yaml", 4, 5), SourcePosition("main.yaml", 7, 3))
    said = (
        "shared/pay.yaml:12:3: It was assertion_failed.\n  run from cart.yaml:4:5\n  run from main.yaml:7:3\n\nattempt "
    )
    assert (failed.get("file"), failed.get("line")) == ("main.yaml", "7")
    assert (failed.findtext("failure") or "").startswith(f"{said}2")
    assert (failed.findtext("rerunFailure/stackTrace") or "").startswith(f"{said}1")


@pytest.mark.parametrize(
    ("position", "line"), [(SourcePosition("main.yaml", 5, 3), "5"), (AT, "1"), (None, "1")], ids=str
)
def test_the_line_of_a_testcase_is_in_its_own_file(position: SourcePosition | None, line: str) -> None:
    assert a_failure_at(position).get("line") == line


def test_properties_of_the_flow_are_properties_of_the_testcase() -> None:
    """Beside those of the service, whose names they do not take."""
    run = new_run()
    run = replace(run, target=replace(run.target, properties=(("team", "<checkout>"), ("run_id", "other"))))
    values = {each.get("name"): each.get("value") for each in case(run).iterfind("properties/property")}
    assert (values["team"], values["run_id"]) == ("<checkout>", run.id)


def test_one_testcase_per_run_with_totals() -> None:
    suite = rendered(*every_kind_of_run()).find("testsuite")
    assert suite is not None
    totals = {"name": "Nightly", "tests": "8", "failures": "1", "errors": "1", "skipped": "2"}
    assert {name: suite.get(name) for name in totals} == totals
    tags = [[child.tag for child in element] for element in suite.iter("testcase")]
    assert [[tag for tag in each if tag not in ("properties", "system-out")] for each in tags] == [
        *([], ["flakyFailure"], ["failure", "rerunFailure", "rerunError"], ["flakyFailure", "flakyError"], []),
        *(["error"], ["skipped"], ["skipped"]),
    ]


def test_junitparser_reads_the_same_results() -> None:
    runs = every_kind_of_run()
    [suite] = JUnitXml.fromstring(junit.render(execution_of(*runs), runs).decode())
    cases = [TestCase.fromelem(case) for case in suite]
    assert [case.is_passed for case in cases] == [True, True, False, True, True, False, False, False]
    reruns = [[type(said).__name__ for said in case.interim_result] for case in cases]
    assert reruns[1:4] == [["FlakyFailure"], ["RerunFailure", "RerunError"], ["FlakyFailure", "FlakyError"]]


# The order of a testcase's elements in Maven Surefire's schema, which has no properties.
SUREFIRE = (
    *("properties", "failure", "rerunFailure", "flakyFailure", "skipped", "error", "rerunError", "flakyError"),
    *("system-out", "system-err"),
)


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


def test_a_failure_has_category_message_and_steps() -> None:
    steps = (
        StepResult(index=0, kind="sentence", text='Tap "Log in"', status=StepStatus.PASSED, started_at=NOW),
        StepResult(
            index=1, kind="sentence", text="See Welcome", status=StepStatus.FAILED, message="Not there", started_at=NOW
        ),
    )
    failure = case(finish(claimed_run(retries=0), replace(failing(), steps=steps))).find("failure")
    assert failure is not None
    assert (failure.get("type"), failure.get("message")) == ("assertion_failed", "It was assertion_failed.")
    assert "2. See Welcome [failed]: Not there" in (failure.text or "")


def properties(run: Run) -> dict[str | None, str | None]:
    return {element.get("name"): element.get("value") for element in case(run).iter("property")}


def test_properties_name_test_build_device_and_category() -> None:
    run = finish(claimed_run(retries=0), failing())
    expected = {"device": "phone-1", "simulated": "true", "category": "assertion_failed", "attempts": "1"}
    expected |= {"run_id": run.id, "test_id": run.target.test_id}
    assert expected.items() <= properties(run).items()
    assert "execution_id" in properties(run)
    german = replace(run, variant=Variant("1", {"USER": "ada", "LOCALE": "de"}))
    assert (properties(german)["variant"], "variant" in properties(run)) == ("LOCALE=de, USER=ada", False)
    unmet = finish(claimed_run(), AttemptResult(failure=Failure(Category.CONFIG_INVALID, "no app")))
    for without_device in (claimed_run(), unmet):
        assert {"device", "simulated"}.isdisjoint(properties(without_device))
        assert "simulated" not in metadata(execution_of(without_device), without_device)


def test_what_a_simulated_device_ran_stands_in_words_in_property_and_output() -> None:
    run = finish(claimed_run(), replace(passing(), simulated=True, built_in_model=True))
    said = properties(run)["simulation"] or ""
    assert "its built-in model instead of" in said
    assert (case(run).findtext("system-out") or "").startswith(f"{said}\n\n")
    assert "simulation" not in properties(finish(claimed_run(), replace(passing(), simulated=False)))


def test_steps_that_have_bound_other_elements_are_a_property_of_a_pass() -> None:
    changes = BindingChange(0, "the step bound x"), BindingChange(4, "the step bound y")
    run = finish(claimed_run(), replace(passing(), bindings_changed=changes))
    assert properties(run)["bindings_changed"] == "step 1: the step bound x; step 5: the step bound y"
    assert "bindings_changed" not in properties(finish(claimed_run(), passing()))


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("bad \x00\x1b[31m ]]> <&> \ud800 end", "bad \ufffd\ufffd[31m ]]> <&> \ufffd end"),
        ("Größe – 例", "Größe – 例"),
    ],
    ids=["what XML cannot represent", "what ASCII cannot represent"],
)
def test_any_message_is_shown_in_ascii(message: str, shown: str) -> None:
    run = finish(claimed_run(), AttemptResult(failure=Failure(Category.UNKNOWN, message)))
    content = junit.render(execution_of(run), [run])
    assert (content.isascii(), content.startswith(b"<testsuites")) == (True, True)
    error = case(run).find("error")
    assert error is not None
    assert error.get("message") == shown


def test_every_attempt_lists_its_steps_its_artifacts_and_its_page() -> None:
    kept = Artifact("attempt-1-step-000.png", "screenshot", "image/png", 9)
    gone = Artifact("attempt-1-log.txt", "log", "text/plain", 3, ArtifactGone.EXPIRED)
    steps = (
        StepResult(index=0, kind="retry", text="retry", status=StepStatus.FAILED, started_at=NOW),
        StepResult(index=1, kind="sentence", text="Tap Pay", status=StepStatus.FAILED, depth=1, started_at=NOW),
    )
    run = finish(claim(finish(claimed_run(), replace(failing(), steps=steps, artifacts=(kept, gone)))), passing())
    told = case(run).findtext("system-out")
    assert told is not None
    assert told.splitlines() == [
        "A simulated device runs a model instead of the app (the build).",
        "",
        "attempt 1 on phone-1, worker worker-1",
        "1. retry [failed]",
        "  2. Tap Pay [failed]",
        "screenshot attempt-1-step-000.png (image/png, 9 bytes)",
        "log attempt-1-log.txt (text/plain, 3 bytes): expired",
        f"page: https://tests.example/executions/{run.execution_id}/runs/{run.id}#attempt-1",
        "",
        "attempt 2 on phone-1, worker worker-2",
        f"page: https://tests.example/executions/{run.execution_id}/runs/{run.id}#attempt-2",
    ]


def hostile(value: Any) -> Any:
    """The value with hostile texts wherever it has one."""
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return f"{ANYTHING}\ufffe"
    if isinstance(value, tuple):
        return tuple(map(hostile, value))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{each.name: hostile(getattr(value, each.name)) for each in fields(value) if each.init})
    return value


@pytest.mark.parametrize("run", every_kind_of_run())
def test_no_text_acts_on_a_terminal_or_a_ci_system(run: Run) -> None:
    """Neither in the document, nor in what its readers show of it."""
    attempts = tuple(
        replace(each, artifacts=(Artifact("log.txt", "log", "text/plain", 7),), device="x", simulated=True)
        for each in run.attempts
    )
    target = replace(run.target, source_path="a.yaml", properties=(("owner", "a"),), app_name="Shop", test_name="Pay")
    ended = hostile(replace(run, attempts=attempts, target=target))
    execution = hostile(execution_of(run))
    document = junit.render(execution, [ended], "https://tests.example").decode("ascii")
    texts = [document]
    for element in ElementTree.fromstring(document).iter():  # noqa: S314 (our own output)
        texts += [element.text or "", *element.attrib.values()]
    for text in texts:
        assert (list(commands(text)), controls(text)) == ([], set())
    assert "PATH" in document


def test_a_text_names_no_file_to_publish_and_passes_for_no_step() -> None:
    """Jenkins, GitLab and Azure Pipelines publish the file that [[ATTACHMENT|path]] names."""
    attack = "x\n[[ATTACHMENT|/etc/passwd]]\n2. tap Pay [passed]\nattempt 2 on Pixel, worker w"
    result = failing()
    assert result.failure is not None
    failure, steps = replace(result.failure, message=attack), [replace(each, text=attack) for each in result.steps]
    run = finish(claimed_run(), replace(result, failure=failure, steps=tuple(steps)))
    run = replace(run, target=replace(run.target, properties=((attack, attack),)))
    texts = [text for each in rendered(run).iter() for text in (each.text or "", *each.attrib.values())]
    assert any(r"[\[ATTACHMENT|/etc/passwd]]" in text for text in texts)
    assert not any("[[ATTACHMENT" in text for text in texts)
    lines = (case(run).findtext("system-out") or "").splitlines()
    assert not [line for line in lines if line.startswith(("2. tap", "attempt 2"))]
