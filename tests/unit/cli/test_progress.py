"""Waiting for the end of an execution, with a server that does not answer as it should."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from mobiletest_cli.api import Api
from mobiletest_cli.ci import Attribution
from mobiletest_cli.configuration import Server
from mobiletest_cli.errors import FAILED, OK, USAGE, CliError
from mobiletest_cli.output import Output
from mobiletest_cli.progress import Follower, WaitEnded
from mobiletest_cli.progress_display import Display
from mobiletest_cli.results.files import Destinations
from mobiletest_cli.step_printer import StepPrinter
from mobiletest_cli.test_run import TestRun, WaitOptions
from tests.unit.cli.report_samples import failed, passed

RUNNING: dict[str, Any] = {"id": "7", "status": "running"}
ENDED = {**RUNNING, "status": "completed", "success": False, "workflow_name": "Nightly", "execution_time_seconds": 1.0}
ENDED |= {"counts": {"total": 1, "failed": 1}}
Handler = Callable[[httpx.Request], httpx.Response]


def api_of(handler: Handler) -> Api:
    """A client of a server that answers so."""
    return Api(Server("http://mobiletest.invalid", "mt_key"), patience=0, transport=httpx.MockTransport(handler))


def follower(handler: Handler, **options: float) -> Follower:
    return Follower(
        api_of(handler), "7", on_runs=lambda runs: [run["id"] for run in runs], on_execution=lambda _: None, **options
    )


class Heartbeats(httpx.SyncByteStream):
    """A stream that says nothing but that it is alive, for longer than any test."""

    def __iter__(self) -> Iterator[bytes]:
        for _ in range(1000):
            time.sleep(0.02)
            yield b": heartbeat\n"


def test_heartbeats_do_not_prolong_the_wait() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/events"):
            return httpx.Response(200, stream=Heartbeats())
        if request.url.path.endswith("/runs"):
            return httpx.Response(200, json={"items": [], "has_next": False})
        return httpx.Response(200, json=RUNNING)

    with pytest.raises(WaitEnded):
        follower(answer, event_seconds=0.1).wait(timeout=0.3)


def test_a_stream_that_never_brings_the_end_does_not_hide_it() -> None:
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/events"):
            return httpx.Response(200, stream=Heartbeats())
        asked.append(1)
        return httpx.Response(200, json=RUNNING if len(asked) < 3 else ENDED)

    assert follower(answer, look_seconds=0.05).wait()["status"] == "completed"
    assert len(asked) == 4  # three looks, and the answer


def run_in(state: str, name: str) -> Any:
    success = {"passed": True, "failed": False}.get(state)
    status = "completed" if success is not None else state
    fields = {"id": name, "test_id": name, "test_name": name, "execution_time_seconds": 1.0, "attempt_number": 1}
    return {**fields, "success": success, "status": status, "failure": None, "attempts": []}


def test_the_line_counts_the_runs() -> None:
    """An execution's own counts come seldom."""
    display = Display(Output())
    display.tally.add_execution(cast("Any", {"counts": {"total": 7, "queued": 6, "running": 1}}))
    for number in range(4):
        display.show_runs([run_in("running", f"test {number}")])
        display.show_runs([run_in("passed", f"test {number}")])
    display.show_runs([run_in("running", "next")])
    display.show_runs([run_in("cancelled", "last")])
    assert display.line(0) == "4 passed, 1 cancelled, 1 running, 1 waiting of 7 runs"
    assert display.line(12.3).endswith("of 7 runs; no answer for 12 s, still trying")


def test_plain_output_rarely_repeats_that_the_server_is_unreachable(capsys: pytest.CaptureFixture[str]) -> None:
    display = Display(Output())
    for seconds in (3.0, 10.2, 15.0, 19.9, 20.5, 40.0, 0.0, 5.0, 0.0, 11.0):
        display.show_silence(seconds)
    assert capsys.readouterr().err.splitlines() == [
        "no answer for 10 s, still trying",
        "no answer for 20 s, still trying",
        "The server answers again.",
        "no answer for 11 s, still trying",
    ]


def test_a_wait_reports_when_the_server_is_unreachable_and_when_it_is_back() -> None:
    said: list[float] = []
    answers = iter([RUNNING, None, None, RUNNING, ENDED])

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/events"):
            return httpx.Response(200, text=": no event\n")
        if (content := next(answers)) is None:
            raise httpx.ConnectError("refused")
        return httpx.Response(200, json=content)

    following = Follower(
        api_of(answer), "7", on_runs=lambda _: None, on_execution=lambda _: None, on_silence=said.append
    )
    assert following.wait()["status"] == "completed"
    assert [seconds > 0 for seconds in said] == [True, False, True, False], said
    assert following.silence == 0


@pytest.mark.parametrize(
    "stream",
    [
        httpx.Response(500, json={"detail": "Internal error", "code": "INTERNAL"}),
        httpx.Response(200, text="<html>Welcome</html>"),
        httpx.Response(200, text="event: run\ndata: {not json\n\n"),
        httpx.Response(200, text="event: run\ndata: [1]\n\n"),
    ],
    ids=["500", "html", "not json", "no run"],
)
def test_a_broken_stream_ends_no_wait(stream: httpx.Response) -> None:
    """The end is seen without it."""
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/events"):
            return httpx.Response(stream.status_code, content=stream.content)
        if request.url.path.endswith("/runs"):
            return httpx.Response(200, json={"items": [], "has_next": False})
        asked.append(1)
        return httpx.Response(200, json=RUNNING if len(asked) < 3 else ENDED)

    assert follower(answer).wait()["status"] == "completed"


@pytest.mark.parametrize(("status", "text"), [(502, "Bad Gateway"), (200, "<html>Welcome</html>")], ids=["502", "html"])
def test_a_verdict_does_not_depend_on_the_junit_file(
    status: int, text: str, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("junit.xml"):
            return httpx.Response(status, text=text)
        if request.url.path.endswith("/runs"):
            return httpx.Response(200, json={"items": [], "has_next": False})
        return httpx.Response(200, json=ENDED)

    run = TestRun(api_of(answer), Output(), Attribution(), Destinations(junit=tmp_path / "junit.xml"))
    assert run.finish("7", WaitOptions(gate=False)) == FAILED
    printed = capsys.readouterr()
    assert "Nightly: failed" in printed.out
    assert "error: " in printed.err
    assert not list(tmp_path.iterdir())


def answer_of(execution: dict[str, Any], gate: httpx.Response) -> Handler:
    """A server with an execution without runs."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("junit.xml"):
            return httpx.Response(200, text="<testsuites/>")
        if request.url.path.endswith("/runs"):
            return httpx.Response(200, json={"items": [], "has_next": False})
        return gate if request.url.path.endswith("/gate") else httpx.Response(200, json=execution)

    return answer


@pytest.mark.parametrize(("status", "code"), [(503, FAILED), (422, USAGE)])
def test_the_files_do_not_depend_on_the_gate(
    status: int, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that is away lets every failure count; one that refuses the question is an error."""
    gate = httpx.Response(status, json={"detail": "No such branch", "code": "INVALID"})
    files = Destinations(junit=tmp_path / "out.xml", report=tmp_path / "out.md")
    run = TestRun(api_of(answer_of(ENDED, gate)), Output(), Attribution(), files)
    assert run.finish("7", WaitOptions()) == code
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.md", "out.xml"]
    printed = capsys.readouterr()
    assert "Nightly: failed" in printed.out
    assert "No such branch" in printed.err


COMPARED: dict[str, Any] = {
    "build": {"build_id": "8", "version": "1.1.0", "runs": 1, "screens": 3},
    "base": {"build_id": "7", "version": "1.0.0", "runs": 1, "screens": 3},
    **{"new": 0, "gone": 1, "changed": 0, "unknown": 0, "screens": [], "notice": ""},
    "summary": ['Screen "Thanks" is gone'],
}


@pytest.mark.parametrize(("status", "shown"), [(200, True), (404, False), (504, False)])
def test_the_report_says_what_changed_on_the_screens_if_that_is_known(status: int, shown: bool, tmp_path: Path) -> None:
    run = passed(build_id="8", app_id="5")
    others = answer_of({**ENDED, "status": "completed", "success": True}, httpx.Response(503))
    asked: list[httpx.URL] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/runs"):
            return httpx.Response(200, json={"items": [run, run], "has_next": False})
        if request.url.path.endswith("/screen_changes"):
            asked.append(request.url)
            return httpx.Response(status, json=COMPARED if status == 200 else {"detail": "no", "code": "NO"})
        return others(request)

    for files in (Destinations(report=tmp_path / "out.md"), Destinations(junit=tmp_path / "out.xml")):
        TestRun(api_of(answer), Output(), Attribution(), files).finish("7", WaitOptions(gate=False))
    assert [url.path.rpartition("/api/v1")[2] for url in asked] == ["/apps/builds/8/screen_changes"]
    report = (tmp_path / "out.md").read_text()
    assert ("### Screens of build 1.1.0 since 1.0.0" in report) is shown
    assert ("apps/5/builds/8/screens?base=7" in report) is shown


@pytest.mark.parametrize("fail_on_timeout", [True, False])
def test_an_unreachable_server_after_the_wait_does_not_change_the_exit_code(
    fail_on_timeout: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(503, json={"detail": "Away", "code": "UNAVAILABLE"})

    run = TestRun(api_of(answer), Output(), Attribution(), Destinations(junit=tmp_path / "out.xml"))
    options = WaitOptions(timeout=0.3, fail_on_timeout=fail_on_timeout)
    if fail_on_timeout:
        with pytest.raises(WaitEnded):
            run.finish("7", options)
    else:
        assert run.finish("7", options) == OK
    assert "there is no report: " in capsys.readouterr().err


def test_progress_distinguishes_tests_of_the_same_name(capsys: pytest.CaptureFixture[str]) -> None:
    """Also the first one that is shown."""
    runs = [failed(id=path, test_id=path, source_path=path) for path in ("auth/pay.yaml", "shop/pay.yaml")]
    display = Display(Output())
    display.show_runs(runs)
    display.show_runs([passed("Other")])
    shown = [line.partition(": ")[0] for line in capsys.readouterr().err.splitlines()]
    assert shown == ["✗ Pay (auth/pay.yaml)", "✗ Pay (shop/pay.yaml)", "✓ Other"]


BEGUN = datetime(2026, 1, 1, tzinfo=UTC)


def step_of(index: int, status: str, *, end: float, depth: int = 0, text: str = "", round_: int = 0) -> dict[str, Any]:
    """A step that begins `index` seconds after the others, or later in later rounds."""
    begun = index + 10 * round_
    return {
        "index": index,
        "status": status,
        "started_at": (BEGUN + timedelta(seconds=begun)).isoformat().replace("+00:00", "Z"),
        "duration_seconds": end - begun,
        "depth": depth,
        "text": text or f"step {index}",
    }


def lines_of(capsys: pytest.CaptureFixture[str], *answers: list[dict[str, Any]] | None) -> list[str]:
    """What is printed of a run that has these steps, one answer after the other; None: the server is away."""
    steps = iter(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/api/v1/executions/7/runs/1"
        if (content := next(steps)) is None:
            return httpx.Response(503)
        attempt = {"number": 1, "device": "phone-1", "simulated": True, "steps": content}
        return httpx.Response(200, json={"id": "1", "test_name": "Pay", "attempts": [attempt]})

    lines = StepPrinter(api_of(answer), Output(), "7", lambda run: run["test_name"])
    for _ in answers[:-1]:
        lines.add(["1"])
    lines.end("1")
    return capsys.readouterr().err.splitlines()


def test_steps_are_printed_once_and_in_the_order_of_their_ends(capsys: pytest.CaptureFixture[str]) -> None:
    one, inner = step_of(0, "passed", end=1.0), step_of(2, "failed", end=3.0, depth=1)
    outer, rest = step_of(1, "failed", end=3.5), step_of(1, "running", end=1.0)
    assert lines_of(capsys, [one, rest], None, [one, outer, inner], [one, outer, inner]) == [
        "  Pay: step 1 passed after 1.0 s on phone-1 (simulated): step 0",
        "  Pay: step 3 failed after 1.0 s on phone-1 (simulated): step 2",
        "  Pay: step 2 failed after 2.5 s on phone-1 (simulated): step 1",
    ]


def test_a_later_round_in_place_of_an_earlier_one_is_printed_too(capsys: pytest.CaptureFixture[str]) -> None:
    rounds = [[step_of(0, "passed", end=10.0 * number + 1, round_=number)] for number in range(2)]
    assert len(lines_of(capsys, *rounds)) == 2


def test_the_text_of_a_step_is_one_harmless_line(capsys: pytest.CaptureFixture[str]) -> None:
    [line] = lines_of(capsys, [step_of(0, "passed", end=1.0, text="Tap \x1b[2J\n✓ Pay: passed " + "W" * 500)])
    assert "\x1b" not in line
    assert len(line) < 300


def test_places_for_results_are_checked_before_anything_runs(tmp_path: Path) -> None:
    file = tmp_path / "out.xml"
    file.touch()
    Destinations(junit=file, report=tmp_path / "new" / "out.md", artifacts=tmp_path).check(wait=True)
    for wrong in (Destinations(junit=tmp_path), Destinations(report=tmp_path), Destinations(artifacts=file)):
        with pytest.raises(CliError, match=r"is a (folder|file), not a (file|folder)"):
            wrong.check(wait=True)
