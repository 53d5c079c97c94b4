"""JUnit of the executor, with quarantine added, and as the schemas for Jenkins allow it."""

from dataclasses import replace
from pathlib import Path

import pytest
from junitparser import JUnitXml
from lxml import etree

from mobiletest_automation.flows.positions import SourcePosition
from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import AttemptResult
from mobiletest_cli.errors import NO_VERDICT, CliError
from mobiletest_cli.results.junit import complete, empty, strict
from mobiletest_cli.results.report import Report
from services.executor import junit
from services.executor.model import lifecycle
from services.executor.model.runs import Run
from tests.unit.cli.report_samples import failed, failed_at, reason, report
from tests.unit.executor.model.builders import (
    LIMITS,
    NOW,
    claimed_run,
    execution_of,
    failing,
    later,
    new_run,
    passing,
)

SCHEMA = etree.XMLSchema(etree.parse(Path(__file__).with_name("jenkins.xsd")))
BOMB = b"""<!DOCTYPE testsuites [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<testsuites name="&b;&b;&b;"/>"""


def finish(run: Run, result: AttemptResult) -> Run:
    return lifecycle.finish(run, run.fencing_token, result, later(2), LIMITS)


def flaky() -> Run:
    return finish(lifecycle.claim(finish(claimed_run(), failing()), "worker-2", later(2), LIMITS), passing())


def all_kinds() -> tuple[Run, ...]:
    """Runs that passed, failed, had no verdict, were cancelled, wait, and passed after a retry or failed after one."""
    again = lifecycle.claim(finish(claimed_run(), failing()), "worker-2", later(2), LIMITS)
    return (
        finish(claimed_run(), passing()),
        finish(claimed_run(retries=0), failing()),
        finish(claimed_run(), failing(Category.CONFIG_INVALID)),
        lifecycle.request_cancel(new_run(), NOW),
        new_run(),
        flaky(),
        finish(again, failing()),
    )


def rendered(*runs: Run) -> bytes:
    return junit.render(execution_of(*runs), runs)


def cases(document: bytes) -> list[etree._Element]:
    return etree.fromstring(document).findall(".//testcase")


def properties(case: etree._Element) -> dict[str, str]:
    return {each.get("name", ""): each.get("value", "") for each in case.iterfind("properties/property")}


def quarantine(run: Run, why: str | None = "Waits for SHOP-1") -> bytes:
    """The document of a run, after the gate named its test as quarantined."""
    sample = failed(test_id=run.target.test_id)
    details = {"reason": why} if why is not None else None
    return complete(rendered(run), report(sample, reasons=[reason(sample, "quarantined", quarantine=details)]))


def test_a_strict_document_is_valid_for_jenkins() -> None:
    SCHEMA.assertValid(etree.fromstring(strict(rendered(*all_kinds()))))
    for run in all_kinds():
        SCHEMA.assertValid(etree.fromstring(strict(rendered(run))))
    SCHEMA.assertValid(etree.fromstring(strict(rendered())))
    SCHEMA.assertValid(etree.fromstring(empty("größe <&>")))


def test_a_strict_document_has_the_same_results() -> None:
    given = rendered(*all_kinds())
    before, after = JUnitXml.fromstring(given.decode()), JUnitXml.fromstring(strict(given).decode())
    for count in ("name", "tests", "failures", "errors", "time"):
        assert getattr(after, count) == getattr(before, count)
    for old, new in zip(cases(given), cases(strict(given)), strict=True):
        assert dict(new.attrib) == dict(old.attrib)
        results = [[each.tag for each in case if each.tag in ("failure", "error", "skipped")] for case in (old, new)]
        assert results[0] == results[1]
        for kind in ("failure", "error"):
            assert [(e.text, dict(e.attrib)) for e in new.iterfind(kind)] == [
                (e.text, dict(e.attrib)) for e in old.iterfind(kind)
            ]


def test_what_strict_leaves_out_is_text() -> None:
    document = rendered(flaky())
    given = cases(document)[0]
    (output,) = cases(strict(document))[0].findall("system-out")
    text = output.text or ""
    for name, value in properties(given).items():
        assert f"{name}: {value}\n" in text
    assert "flakyFailure: It was assertion_failed.\n" in text
    assert text.endswith(given.findtext("system-out") or "?")


def test_a_skipped_test_keeps_its_reason() -> None:
    cancelled = lifecycle.request_cancel(new_run(), NOW)
    document = rendered(cancelled)
    old, new = (cases(each)[0].find("skipped") for each in (document, strict(document)))
    assert old is not None
    assert new is not None
    assert new.text == old.get("message")


def test_properties_of_the_suite_stay() -> None:
    given = rendered(*all_kinds())
    before, after = (etree.fromstring(each).find("testsuite/properties") for each in (given, strict(given)))
    assert before is not None
    assert after is not None
    assert [dict(each.attrib) for each in after] == [dict(each.attrib) for each in before]


@pytest.mark.parametrize(("simulated", "said"), [(True, "true"), (False, "false"), (None, None)])
def test_simulated_is_true_only_where_a_simulated_device_ran_the_test(simulated: bool | None, said: str | None) -> None:
    run = finish(claimed_run(), replace(passing(), device="Pixel 9", simulated=simulated))
    assert properties(cases(rendered(run))[0]).get("simulated") == said


def test_quarantine_is_a_property_of_the_tests_that_the_gate_names() -> None:
    document = quarantine(finish(claimed_run(retries=0), failing()))
    (case,) = cases(document)
    assert properties(case)["quarantine"] == "Waits for SHOP-1"
    assert case.find("failure") is not None
    SCHEMA.assertValid(etree.fromstring(strict(document)))
    assert "quarantine: Waits for SHOP-1\n" in (cases(strict(document))[0].findtext("system-out") or "")
    assert properties(cases(quarantine(new_run(), None))[0])["quarantine"] == "in quarantine"


def test_a_testcase_names_the_file_of_its_flow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Relative to the working directory, or to the checkout where the CI system names it."""
    run = new_run()
    run = replace(run, target=replace(run.target, source_path="login.yaml"))
    shown = replace(report(failed()), paths={run.target.test_id: "flows/login.yaml"})
    for root, expected in (("", "flows/login.yaml"), (str(tmp_path), "app/flows/login.yaml")):
        (tmp_path / "app").mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / "app")
        monkeypatch.setenv("CI_PROJECT_DIR", root)
        document = complete(rendered(run), shown)
        (case,) = cases(document)
        assert (case.get("file"), case.get("line"), properties(case)["file"]) == (expected, "1", expected)
        SCHEMA.assertValid(etree.fromstring(strict(document)))
        assert f"file: {expected}\n" in (cases(strict(document))[0].findtext("system-out") or "")


def test_positions_of_failures_have_the_paths_of_the_files_here() -> None:
    """Those at the beginning of a text, not what a message says."""
    server = SourcePosition("pay.yaml", 12, 3), SourcePosition("main.yaml", 4, 5)
    broken = Failure(Category.ASSERTION_FAILED, "pay.yaml:12:3: gone", "", 1, "tapOn", server[0], server[1:])
    result = replace(failing(), failure=broken)
    run = finish(lifecycle.claim(finish(claimed_run(retries=1), result), "worker-2", later(2), LIMITS), result)
    run = replace(run, target=replace(run.target, source_path="main.yaml"))
    sample = failed_at("pay.yaml:12:3", "main.yaml:4:5", test_id=run.target.test_id, id=run.id)
    shown = replace(
        report(sample), paths={run.target.test_id: "e2e/main.yaml"}, display_path=lambda path: f"e2e/{path}"
    )
    (case,) = cases(complete(rendered(run), shown))
    expected = "e2e/pay.yaml:12:3: pay.yaml:12:3: gone\n  run from e2e/main.yaml:4:5\n\nattempt "
    assert (case.get("file"), case.get("line")) == ("e2e/main.yaml", "4")
    for path in ("failure", "rerunFailure/stackTrace"):
        assert (case.findtext(path) or "").startswith(expected)


def test_other_tests_are_not_in_quarantine() -> None:
    document = rendered(finish(claimed_run(retries=0), failing()))
    other = failed("Other")
    shown = report(other, reasons=[reason(other, "quarantined", quarantine={"reason": "x"})])
    assert "quarantine" not in properties(cases(complete(document, shown))[0])


@pytest.mark.parametrize("shown", [report(failed()), report(failed(), reasons=[reason(failed(), "flaky")])])
def test_a_document_without_quarantine_is_unchanged(shown: Report) -> None:
    document = rendered(*all_kinds())
    assert complete(document, shown) == document


def test_documents_are_ascii_without_a_declaration() -> None:
    run = new_run()
    named = replace(run, target=replace(run.target, test_name="größe 🚀 <&>\"'"))
    for document in (strict(rendered(named)), quarantine(named, "später\n& <mehr>")):
        assert document.isascii()
        assert document.startswith(b"<testsuites")
        assert cases(document)[0].get("name") == "größe 🚀 <&>\"'"
    assert properties(cases(quarantine(named, "später\n& <mehr>"))[0])["quarantine"] == "später\n& <mehr>"


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (BOMB, "it has a DOCTYPE"),
        (b'<!DOCTYPE testsuites SYSTEM "file:///etc/passwd"><testsuites/>', "it has a DOCTYPE"),
        (b"<testsuites>", "no element found"),
        (b"", "no element found"),
        (b"<html>", "no element found"),
        (b"{}", "not well-formed"),
    ],
)
def test_a_document_that_cannot_be_read_is_an_error_in_one_line(document: bytes, problem: str) -> None:
    with pytest.raises(CliError) as caught:
        strict(document)
    assert str(caught.value).startswith(f"The server's JUnit document cannot be used: {problem}")
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == NO_VERDICT
