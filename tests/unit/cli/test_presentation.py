"""How runs are shown."""

from typing import Any

import pytest

from mobiletest_cli.output import Output
from mobiletest_cli.presentation import show_runs
from tests.unit.cli.report_samples import failed, passed


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
