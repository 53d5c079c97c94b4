"""Durations, times and sizes for people, and the errors that --json prints."""

import json
from datetime import timedelta

import pytest

from mobiletest_cli.errors import NOT_FOUND, USAGE, CliError, RequestRefused
from mobiletest_cli.output import Output, duration, local_time, size, utc_time


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (0, "0 ms"),
        (0.35, "350 ms"),
        (4.21, "4.2 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 0 s"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
    ],
)
def test_durations_are_readable(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(("count", "text"), [(0, "0 B"), (999, "999 B"), (3400, "3.4 kB"), (2.5e9, "2.5 GB")])
def test_sizes_are_readable(count: float, text: str) -> None:
    assert size(count) == text


def test_times_are_those_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "Europe/Amsterdam")
    time.tzset()
    try:
        assert local_time("2026-07-01T10:00:00.5Z") == "2026-07-01 12:00:00"
        assert local_time(None) == "-"
        assert utc_time("2026-12-24") == "2026-12-24T22:59:59Z"
        assert utc_time("2026-10-25", of_day=timedelta()) == "2026-10-24T22:00:00Z"
        assert utc_time("2026-10-25", of_day=timedelta(days=1)) == "2026-10-25T23:00:00Z"  # a day of 25 hours
        assert utc_time("2026-12-24T18:00") == "2026-12-24T17:00:00Z"
        assert utc_time("2026-12-24T18:00:00Z") == "2026-12-24T18:00:00Z"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_text_that_is_not_a_time_is_refused() -> None:
    with pytest.raises(CliError, match='"tomorrow" is not a day or time') as refused:
        utc_time("tomorrow")
    assert refused.value.exit_code == USAGE


def test_errors_are_documents_with_json(capsys: pytest.CaptureFixture[str]) -> None:
    refused = RequestRefused("App not found", NOT_FOUND, "Look", status=404, code="NOT_FOUND", request_id="r-1")
    Output(as_json=True).error(refused)
    assert json.loads(capsys.readouterr().out) == {
        "error": {
            "message": "App not found",
            "exit_code": 4,
            "hint": "Look",
            "status": 404,
            "code": "NOT_FOUND",
            "request_id": "r-1",
        }
    }


def test_errors_say_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    Output().error(CliError("no app is [named]", USAGE, "Name it"))
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "error: no app is [named]\n  Name it\n")


def test_markup_of_others_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    Output().table(("Test",), [["[red]Log in[/red]"]])
    assert "[red]Log in[/red]" in capsys.readouterr().out
