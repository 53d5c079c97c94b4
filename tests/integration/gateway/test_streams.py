"""Downloads and server-sent events."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
from google.api import httpbody_pb2
from mobiletest.executor.v1 import executions_pb2, runs_pb2

from services.chassis.errors import FailedPrecondition, NotFound, Unavailable
from services.gateway.app import RunningGateway
from tests.eventually import eventually
from tests.fakes.gateway import FakeBackends
from tests.integration.gateway.conftest import Client

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def settings_overrides() -> dict[str, Any]:
    return {"heartbeat_seconds": 0.2, "idle_timeout_seconds": 1}


async def test_a_download_has_its_headers_and_every_byte(client: Client, backends: FakeBackends) -> None:
    chunks = [bytes([number]) * 100_000 for number in range(30)]
    backends.initial_metadata = (
        ("http-content-length", str(30 * 100_000)),
        ("http-etag", '"abc"'),
        ("http-content-disposition", 'attachment; filename="shop.apk"'),
    )

    async def artifact(_: object) -> AsyncIterator[Any]:
        for chunk in chunks:
            yield httpbody_pb2.HttpBody(content_type="application/vnd.android.package-archive", data=chunk)

    backends.on("DownloadBuild", artifact)
    answer = await client("GET", f"/api/v1/apps/builds/{uuid4()}/download")
    assert answer.status == 200
    assert answer.body == b"".join(chunks)
    assert answer.headers["Content-Length"] == "3000000"
    assert answer.headers["ETag"] == '"abc"'
    assert answer.headers["Content-Type"] == "application/vnd.android.package-archive"
    assert "shop.apk" in answer.headers["Content-Disposition"]
    assert answer.headers["Content-Security-Policy"].startswith("sandbox")


@pytest.mark.parametrize(
    ("content_type", "disposition"),
    [
        ("image/png", None),
        ("video/mp4", None),
        ("Text/Plain; charset=utf-8", None),
        ("text/html; charset=utf-8", "attachment"),
        ("application/xml", "attachment"),
        ("image/svg+xml", "attachment"),
        ("application/jsonl", "attachment"),
        ("", "attachment"),
    ],
)
async def test_a_browser_saves_what_it_cannot_show_safely(
    client: Client, backends: FakeBackends, content_type: str, disposition: str | None
) -> None:
    async def artifact(_: object) -> AsyncIterator[Any]:
        yield httpbody_pb2.HttpBody(content_type=content_type, data=b"<script>")

    backends.on("DownloadArtifact", artifact)
    answer = await client("GET", f"/api/v1/executions/{uuid4()}/runs/{uuid4()}/artifacts/a.html")
    assert (answer.status, answer.headers.get("Content-Disposition")) == (200, disposition)
    assert answer.headers["Content-Type"] == (content_type or "application/octet-stream")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"].startswith("sandbox")


@pytest.mark.parametrize(
    ("error", "status"), [(NotFound("Build not found"), 404), (FailedPrecondition("Elsewhere"), 409)]
)
async def test_a_download_that_fails_at_once_is_an_ordinary_error(
    client: Client, backends: FakeBackends, error: Exception, status: int
) -> None:
    backends.fail("DownloadBuild", error)
    answer = await client("GET", f"/api/v1/apps/builds/{uuid4()}/download")
    assert (answer.status, answer.json["detail"]) == (status, str(error))


async def test_what_is_kept_without_asking_again_is_kept_for_its_reader_only(
    client: Client, backends: FakeBackends
) -> None:
    forever = "private, max-age=86400, immutable"
    backends.initial_metadata = (("http-etag", '"abc"'), ("http-cache-control", forever))

    async def picture(_: object) -> AsyncIterator[Any]:
        yield httpbody_pb2.HttpBody(content_type="image/webp", data=b"picture")

    backends.on("DownloadScreen", picture)
    for headers, status in ({}, 200), ({"If-None-Match": '"abc"'}, 304):
        answer = await client("GET", f"/api/v1/screens/{'1' * 32}", headers=headers)
        shown = (answer.status, answer.headers["Cache-Control"], answer.headers["Vary"])
        assert shown == (status, forever, "Authorization, Cookie")


async def test_a_download_that_fails_midway_is_a_broken_connection(client: Client, backends: FakeBackends) -> None:
    async def artifact(_: object) -> AsyncIterator[Any]:
        yield httpbody_pb2.HttpBody(content_type="text/plain", data=b"half")
        raise Unavailable("the store is down")

    backends.on("DownloadBuild", artifact)
    with pytest.raises(aiohttp.ClientError):
        await client("GET", f"/api/v1/apps/builds/{uuid4()}/download")


async def test_a_download_that_the_client_does_not_read_is_cancelled(
    client: Client, backends: FakeBackends, gateway: RunningGateway
) -> None:
    async def artifact(_: object) -> AsyncIterator[Any]:
        while True:
            yield httpbody_pb2.HttpBody(content_type="text/plain", data=b"x" * 1024 * 1024)

    backends.on("DownloadBuild", artifact)
    async with client.session.get(
        f"{gateway.url}/api/v1/apps/builds/{uuid4()}/download", headers={"Authorization": f"Bearer {client.key}"}
    ) as answer:
        assert answer.status == 200
        await eventually(lambda: "DownloadBuild" in backends.cancelled)


async def test_events_have_id_name_and_data(client: Client, backends: FakeBackends) -> None:
    async def events(_: object) -> AsyncIterator[Any]:
        yield executions_pb2.ExecutionEvent(
            sequence=3, execution=executions_pb2.Execution(id="e", status="EXECUTION_STATUS_RUNNING")
        )
        yield executions_pb2.ExecutionEvent(
            sequence=5, run=runs_pb2.Run(id="r", status="EXECUTION_STATUS_COMPLETED", success=True)
        )

    backends.on("WatchExecution", events)
    answer = await client("GET", f"/api/v1/executions/{uuid4()}/events", headers={"Last-Event-ID": "2"})
    assert answer.headers["Content-Type"] == "text/event-stream; charset=utf-8"
    assert backends.requests("WatchExecution")[0].after_sequence == 2
    first, second, rest = answer.body.decode().split("\n\n")
    assert first.startswith("id: 3\nevent: execution\ndata: {")
    assert second.startswith("id: 5\nevent: run\ndata: {")
    assert rest == ""
    assert json.loads(second.partition("data: ")[2])["success"] is True


async def test_a_quiet_stream_gets_heartbeats_with_a_retry_time_and_is_cancelled_with_its_client(
    client: Client, backends: FakeBackends, gateway: RunningGateway
) -> None:
    backends.hang("WatchExecution")
    headers = {"Authorization": f"Bearer {client.key}"}
    async with client.session.get(f"{gateway.url}/api/v1/executions/{uuid4()}/events", headers=headers) as answer:
        lines = [await answer.content.readline() for _ in range(3)]
    assert (lines[0], lines[2]) == (b": still here\n", b"\n")
    assert 1000 <= int(lines[1].removeprefix(b"retry: ")) <= 2010
    await eventually(lambda: "WatchExecution" in backends.cancelled)


async def test_events_of_an_unknown_execution_are_a_404(client: Client, backends: FakeBackends) -> None:
    backends.fail("WatchExecution", NotFound("Execution not found"))
    answer = await client("GET", f"/api/v1/executions/{uuid4()}/events")
    assert (answer.status, answer.json["detail"]) == (404, "Execution not found")


async def test_followers_of_an_execution_share_a_call(
    client: Client, backends: FakeBackends, gateway: RunningGateway
) -> None:
    gate = asyncio.Event()

    async def events(_: object) -> AsyncIterator[Any]:
        await gate.wait()
        yield executions_pb2.ExecutionEvent(sequence=4, run=runs_pb2.Run(id="r"))

    backends.on("WatchExecution", events)
    url, headers = f"{gateway.url}/api/v1/executions/{uuid4()}/events", {"Authorization": f"Bearer {client.key}"}
    async with client.session.get(url, headers=headers) as first, client.session.get(url, headers=headers) as second:
        gate.set()
        bodies = [await first.text(), await second.text()]
    assert ["id: 4\nevent: run\n" in body for body in bodies] == [True, True]
    assert len(backends.requests("WatchExecution")) == 1
