"""How runs are shown."""

from typing import Any

import pytest

from mobiletest_cli.output import Output
from mobiletest_cli.presentation import current_build, notes, show_failure, show_headline, show_runs, state
from tests.unit.cli.report_samples import failed, passed, report


def variant(values: dict[str, str] | None = None, *left_out: str) -> dict[str, Any]:
    return {"variant": {"id": "1", "values": values, "left_out": list(left_out)}}


def test_a_test_that_failed_is_named_with_its_variant(capsys: pytest.CaptureFixture[str]) -> None:
    show_runs(
        Output(),
        [failed("Pay", **variant({"USER": "ada", "LOCALE": "de"})), passed("Log in", **variant({"LOCALE": "de"}))],
    )
    out, err = capsys.readouterr()
    assert "Pay (LOCALE=de, USER=ada)" in out
    assert "Log in (" not in out
    assert err == ""


def test_a_variable_that_varies_from_run_to_run_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    show_runs(Output(), [passed("A", **variant(None, "RUN")), passed("B", **variant({"LOCALE": "de"}, "RUN"))])
    err = capsys.readouterr().err
    assert err.startswith("warning: RUN varied too often")
    assert err.count("RUN") == 1


def test_no_line_of_a_failure_is_a_command_of_the_ci_system(capsys: pytest.CaptureFixture[str]) -> None:
    """Selectors and texts of the screen may have several lines."""
    step = {"index": 0, "text": 'assertVisible: "Total\n::stop-commands::x"'}
    failure = {"category": "assertion_failed", "message": '"Total\n::stop-commands::x" did not appear', "step_index": 0}
    run: Any = {**failed("Pay"), "execution_id": "1", "failure": failure, "attempts": [{"steps": [step]}]}
    show_failure(Output(), run)
    out = capsys.readouterr().out
    assert out.count("Total ::stop-commands::x") == 2
    assert not any(line.lstrip().startswith("::") for line in out.splitlines())


@pytest.mark.parametrize(
    ("chosen", "of_chosen", "expected"),
    [
        (None, None, ("2", "1.1")),
        ("1.0", "1", ("1", "1.0")),
        ("2.0", None, ("2", "1.1")),  # chosen, and not uploaded yet
    ],
)
def test_the_current_build_is_the_chosen_one_or_else_the_newest(
    chosen: str | None, of_chosen: str | None, expected: tuple[str, str]
) -> None:
    app: Any = {"current_version": chosen, "current_build_id": of_chosen}
    assert current_build({**app, "latest_version": "1.1", "latest_build_id": "2"}) == expected


def test_an_execution_that_was_cancelled_and_has_not_ended_is_said_so() -> None:
    execution: Any = {"status": "running", "success": None, "cancel_requested_at": None, "completed_at": None}
    assert state(execution) == "running"
    assert state({**execution, "cancel_requested_at": "2026-11-28T04:00:00Z"}) == "cancelling"
    ended = {
        "status": "cancelled",
        "cancel_requested_at": "2026-11-28T04:00:00Z",
        "completed_at": "2026-11-28T04:00:01Z",
    }
    assert state({**execution, **ended}) == "cancelled"


def test_a_run_that_a_person_helped_has_not_simply_passed(capsys: pytest.CaptureFixture[str]) -> None:
    helped = passed("Pay", report_metadata={"human_helped": True}, partial="A person helped.")
    runs = [passed("Log in"), helped]
    show_runs(Output(), runs)
    show_headline(Output(), report(*runs).execution, runs)
    shown = capsys.readouterr().out
    assert shown.count("passed with help") == 2
    assert "Pay: A person helped." in shown


def test_a_pass_whose_steps_have_bound_other_elements_says_so() -> None:
    changes = [{"step_index": index, "message": 'the step bound button "Pay later"'} for index in range(7)]
    runs = [passed("Log in"), passed("Pay", report_metadata={"bindings_changed": changes})]
    shown = notes(runs)
    assert shown[0] == 'Pay, step 1: the step bound button "Pay later".'
    assert shown[-1] == "2 more steps have bound other elements."
    assert len(shown) == 6
