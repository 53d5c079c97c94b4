"""Waiting for the end of an execution, with a server that does not answer as it should."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from mobiletest_cli.api import Api
from mobiletest_cli.ci import Attribution
from mobiletest_cli.configuration import Server
from mobiletest_cli.errors import FAILED
from mobiletest_cli.output import Output
from mobiletest_cli.progress import Follower, WaitEnded
from mobiletest_cli.test_run import Destinations, TestRun, WaitOptions

RUNNING: dict[str, Any] = {"id": "7", "status": "running"}
ENDED = {**RUNNING, "status": "completed", "success": False, "workflow_name": "Nightly", "execution_time_seconds": 1.0}
ENDED |= {"counts": {"total": 1, "failed": 1}}
Handler = Callable[[httpx.Request], httpx.Response]


def api_of(handler: Handler) -> Api:
    """A client of a server that answers so."""
    return Api(Server("http://mobiletest.invalid", "mt_key"), patience=0, transport=httpx.MockTransport(handler))


def follower(handler: Handler, **options: float) -> Follower:
    return Follower(api_of(handler), "7", on_run=lambda run: run["id"], on_execution=lambda _: None, **options)


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
