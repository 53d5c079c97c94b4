"""What is open with a key ends when the key is revoked or expires."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
from google.api import httpbody_pb2
from mobiletest.catalog.v1 import events_pb2

from services.chassis.events import Event
from services.chassis.producer import Producer
from services.gateway.auth.key_cache import KEY_EVENTS_TOPIC
from tests.eventually import eventually
from tests.fakes.gateway import FakeBackends, run_fake_backends, script_api_key
from tests.fakes.reporting_event_log import event
from tests.integration.gateway.conftest import Client, open_client, run_gateway

METHODS = {"WatchExecution", "DownloadBuild", "UploadBuild", "GetExecution"}


@pytest.fixture
async def backends() -> AsyncIterator[FakeBackends]:
    async with run_fake_backends() as services:
        yield services


def script_endless(backends: FakeBackends) -> None:
    """Services that never come to an end of anything."""

    async def artifact(_: object) -> AsyncIterator[Any]:
        yield httpbody_pb2.HttpBody(content_type="text/plain", data=b"half")
        await asyncio.Event().wait()

    backends.on("DownloadBuild", artifact)
    backends.hang("WatchExecution", "GetExecution")


async def endless_body() -> AsyncIterator[bytes]:
    yield b"x"
    await asyncio.Event().wait()


def start_all(client: Client) -> dict[str, asyncio.Task[Any]]:
    """One request of each kind that may stay open, by the RPC that answers it."""
    form = aiohttp.MultipartWriter("form-data")
    form.append(endless_body()).set_content_disposition("form-data", name="file", filename="shop.apk")
    tasks = {
        "WatchExecution": client("GET", f"/api/v1/executions/{uuid4()}/events"),
        "DownloadBuild": client("GET", f"/api/v1/apps/builds/{uuid4()}/download"),
        "UploadBuild": client("POST", f"/api/v1/apps/{uuid4()}/builds", data=form),
        "GetExecution": client("GET", f"/api/v1/executions/{uuid4()}?wait=60"),
    }
    return {name: asyncio.create_task(work) for name, work in tasks.items()}


def deletion(key_id: str) -> Event:
    """The catalog's event about a key that was deleted."""
    message = events_pb2.ApiKeyChanged(org_id=str(uuid4()), api_key_id=key_id, revision=2, deleted=True)
    return event(KEY_EVENTS_TOPIC, key_id, message)


def all_open(backends: FakeBackends) -> bool:
    return {call.method for call in backends.calls} >= METHODS


async def ends(task: asyncio.Task[Any]) -> object:
    """The status of an answer that had not begun, or the error of one that was cut."""
    try:
        return (await task).status
    except aiohttp.ClientError as error:
        return type(error)


async def endings(tasks: dict[str, asyncio.Task[Any]]) -> dict[str, object]:
    return {name: await ends(task) for name, task in tasks.items()}


def check(answers: dict[str, object]) -> None:
    """Answers that had not begun are a 401; the others are cut, so that nobody takes them for whole."""
    assert (answers["GetExecution"], answers["UploadBuild"]) == (401, 401)
    for name in ("DownloadBuild", "WatchExecution"):
        assert answers[name] == 401 or issubclass(answers[name], aiohttp.ClientError)  # type: ignore[arg-type]


async def test_a_revoked_key_ends_what_is_open(backends: FakeBackends, kafka_bootstrap: str) -> None:
    script_endless(backends)
    async with (
        Producer(kafka_bootstrap, {KEY_EVENTS_TOPIC: 1}, idempotence=False) as producer,
        run_gateway(backends, kafka_bootstrap=kafka_bootstrap, heartbeat_seconds=0.2) as app,
        open_client(app, backends) as client,
        open_client(app, backends) as other,
    ):
        tasks = start_all(client)
        await eventually(lambda: all_open(backends))
        of_other = asyncio.create_task(other("GET", f"/api/v1/executions/{uuid4()}?wait=60"))
        key_id = backends.answers["VerifyApiKey"](backends.of("VerifyApiKey")[0].request).api_key_id
        await producer.publish([deletion(key_id)])
        check(await endings(tasks))
        await eventually(lambda: set(backends.cancelled) >= METHODS - {"UploadBuild"})  # an upload just has no end
        assert (await client("GET", "/api/v1/apps")).status == 401  # although the catalog would still accept it
        assert not of_other.done()
        of_other.cancel()


async def test_a_key_that_expires_ends_what_is_open(backends: FakeBackends) -> None:
    """A slow machine needs more than a second to open all."""
    script_endless(backends)
    async with run_gateway(backends, heartbeat_seconds=0.2) as app, aiohttp.ClientSession() as session:
        for seconds in (1, 4, 16):
            backends.calls.clear()
            key = script_api_key(backends, expires_at=datetime.now(UTC) + timedelta(seconds=seconds))
            tasks = start_all(Client(session, app.url, key))
            check(await endings(tasks))
            if all_open(backends):
                return
    raise AssertionError("not all were open before the key expired")
