"""The admin port: health and metrics, and nothing else."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import aiohttp
import pytest

from services.chassis.health import AdminServer, Health


@pytest.fixture
async def url() -> AsyncIterator[str]:
    async with AdminServer("127.0.0.1:0", Health()) as admin:
        yield f"http://{admin.address}"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/healthz", 200),
        ("GET", "/readyz?verbose", 503),
        ("HEAD", "/metrics", 200),
        ("GET", "/other", 404),
        ("POST", "/readyz", 405),
    ],
)
async def test_it_answers_health_and_metrics(url: str, method: str, path: str, status: int) -> None:
    async with aiohttp.ClientSession() as session, session.request(method, url + path) as answer:
        assert answer.status == status


async def test_a_process_that_is_not_ready_says_why(url: str) -> None:
    async with aiohttp.ClientSession() as session, session.get(f"{url}/readyz") as answer:
        assert await answer.json() == {"status": "failing", "failures": {"process": "starting"}}


@pytest.mark.parametrize("sent", [b"no HTTP", b"GET /healthz HTTP/1.1\r\nA: " + b"a" * 100_000])
async def test_an_invalid_request_ends_the_connection(url: str, sent: bytes) -> None:
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(sent)
    writer.write_eof()
    with suppress(ConnectionResetError):
        assert await reader.read() == b""
    writer.close()
