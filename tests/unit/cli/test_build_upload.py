"""Large files are sent in parts, where the server takes them."""

import time
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from mobiletest_automation.app_files.reader import AppFile
from mobiletest_cli import build_upload
from mobiletest_cli.api import Api
from mobiletest_cli.build_upload import BuildUpload
from mobiletest_cli.configuration import Server
from mobiletest_cli.output import Output

APP = cast("Any", {"id": "app-1", "name": "Shop"})
BUILD = {"id": "build-1", "version": "1"}
CONTENT = b"abcdefg"


class FakeServer:
    """Answers as the server does; `broken` parts fail once with a cut connection."""

    def __init__(self, *, has_parts: bool, missing: tuple[int, ...] = (1, 2, 3), broken: tuple[int, ...] = ()) -> None:
        self.has_parts = has_parts
        self.missing = missing
        self.broken = set(broken)
        self.completed = False
        self.interrupted = 0
        # What time it is; a part that breaks takes a minute.
        self.seconds = 0.0
        self.parts: dict[int, bytes] = {}
        self.forms = 0
        # The first form is refused with it.
        self.refusal: httpx.Response | None = None
        self.keys: set[str] = set()

    def answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/api/v1/")
        if request.method == "GET":
            return httpx.Response(200, json={"items": [], "has_next": False})
        if path == "apps/app-1/builds":
            self.forms += 1
            self.keys.add(request.headers["Idempotency-Key"])
            assert CONTENT in request.read()
            if self.refusal is not None and self.forms == 1:
                return self.refusal
            return httpx.Response(201, json=BUILD)
        if path == "apps/app-1/uploads" and self.has_parts:
            upload = {"id": "u", "size_bytes": len(CONTENT), "part_bytes": 3, "part_count": 3}
            return httpx.Response(200, json={**upload, "missing_parts": list(self.missing)})
        if path.startswith("uploads/u/parts/"):
            return self._part(int(path.rpartition("/")[2]), request)
        if path == "uploads/u/build":
            return httpx.Response(201, json=BUILD)
        return httpx.Response(404, json={"detail": "Not Found", "code": "PATH_UNKNOWN"})

    def _part(self, number: int, request: httpx.Request) -> httpx.Response:
        if self.completed:
            return httpx.Response(404, json={"detail": "Upload not found", "code": "NOT_FOUND"})
        if number in self.broken:
            self.broken.remove(number)
            self.seconds += 60
            if number == self.interrupted:
                raise KeyboardInterrupt
            raise httpx.WriteError("cut", request=request)
        self.parts[number] = request.read()
        return httpx.Response(200, json={})


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(build_upload, "LARGE_BYTES", len(CONTENT) - 1)
    path = tmp_path / "app.apk"
    path.write_bytes(CONTENT)
    return path


def upload(server: FakeServer, file: Path) -> None:
    api = Api(Server("http://server", "mt_key"), patience=10, transport=httpx.MockTransport(server.answer))
    BuildUpload(api, Output()).ensure(APP, file, AppFile(), "1")


def test_each_part_is_repeated_after_a_broken_connection(file: Path) -> None:
    server = FakeServer(has_parts=True, broken=(1, 3))
    upload(server, file)
    assert (server.parts, server.forms) == ({1: b"abc", 2: b"def", 3: b"g"}, 0)


def test_the_patience_with_a_part_begins_when_it_breaks(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = FakeServer(has_parts=True, broken=(2,))
    monkeypatch.setattr(time, "monotonic", lambda: server.seconds)
    upload(server, file)
    assert server.parts == {1: b"abc", 2: b"def", 3: b"g"}


def test_an_upload_resumes_with_the_missing_bytes(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = FakeServer(has_parts=True, missing=(2,))
    upload(server, file)
    assert "Resuming the upload of app.apk: the server has 2 of 3 parts." in capsys.readouterr().err
    assert server.parts == {2: b"def"}


def test_an_interrupted_upload_says_how_to_resume(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = FakeServer(has_parts=True, broken=(2,))
    server.interrupted = 2
    with pytest.raises(KeyboardInterrupt):
        upload(server, file)
    assert "repeat the command to resume" in capsys.readouterr().err


def test_an_upload_that_another_command_has_completed_is_its_build(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = FakeServer(has_parts=True)
    server.completed = True
    upload(server, file)
    assert "as build 1 of Shop" in capsys.readouterr().err
    assert server.parts == {}


def test_a_server_without_parts_gets_one_request(file: Path) -> None:
    server = FakeServer(has_parts=False)
    upload(server, file)
    assert (server.parts, server.forms) == ({}, 1)


def test_a_small_file_is_one_request(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_upload, "LARGE_BYTES", len(CONTENT))
    server = FakeServer(has_parts=True)
    upload(server, file)
    assert (server.parts, server.forms) == ({}, 1)


def test_a_form_is_repeated_with_its_key_while_the_server_has_no_room(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_upload, "LARGE_BYTES", len(CONTENT))
    server = FakeServer(has_parts=True)
    server.refusal = httpx.Response(503, json={"code": "TOO_MANY_UPLOADS"}, headers={"Retry-After": "0"})
    upload(server, file)
    assert (server.forms, len(server.keys)) == (2, 1)
