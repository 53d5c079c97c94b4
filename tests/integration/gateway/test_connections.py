"""Connections: what is half-sent, too many or too large ends; what is under way at a stop is finished."""

import asyncio
import socket
from contextlib import suppress
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
import structlog
from mobiletest.catalog.v1 import apps_pb2

from services.gateway.app import RunningGateway
from services.gateway.http.server import UNSENT_BYTES
from tests.eventually import eventually
from tests.fakes.gateway import FakeBackends, script_api_key
from tests.integration.gateway.conftest import Client, run_gateway

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def settings_overrides() -> dict[str, Any]:
    return {"keepalive_timeout_seconds": 0.5, "max_request_timeout_seconds": 3}


async def connect(gateway: RunningGateway) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = gateway.http_address.split(":")
    return await asyncio.open_connection(host, int(port))


async def send_raw(gateway: RunningGateway, text: bytes) -> bytes:
    """Send the bytes; return everything until the gateway closes the connection."""
    reader, writer = await connect(gateway)
    writer.write(text)
    try:
        async with asyncio.timeout(30):
            return await reader.read()
    finally:
        writer.close()


@pytest.mark.parametrize("text", [b"", b"GET /healthz HTT", b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: "])
async def test_a_connection_with_an_incomplete_request_is_closed(gateway: RunningGateway, text: bytes) -> None:
    assert await send_raw(gateway, text) == b""


async def test_an_idle_connection_is_closed_after_its_response(gateway: RunningGateway) -> None:
    answer = await send_raw(gateway, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200")


HEAD = b" HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize(
    ("text", "status", "code"),
    [
        (b"GET /" + b"x" * 20_000 + HEAD + b"\r\n", 414, "URL_TOO_LONG"),
        (b"GET /?" + b"x=y&" * 5_000 + HEAD + b"\r\n", 414, "URL_TOO_LONG"),
        (b"GET /" + HEAD + b"".join(b"X-%d: y\r\n" % n for n in range(10_000)) + b"\r\n", 431, "HEADER_TOO_LARGE"),
        (b"GET /" + HEAD + b"X-Long: " + b"y" * 20_000 + b"\r\n\r\n", 431, "HEADER_TOO_LARGE"),
        (b"BREW /healthz" + HEAD + b"\r\n", 501, "METHOD_UNKNOWN"),
        (b"PROPFIND /healthz" + HEAD + b"Connection: close\r\n\r\n", 501, "METHOD_UNKNOWN"),
        (b"TRACE /nothing" + HEAD + b"Connection: close\r\n\r\n", 501, "METHOD_UNKNOWN"),
        (b"POST /" + HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0", 400, "HTTP_MALFORMED"),
        (b"POST /" + HEAD + b"Transfer-Encoding: gzip\r\n\r\n", 400, "HTTP_MALFORMED"),
        (b"GET /" + HEAD + b"X-Bad: a\rb\r\n\r\n", 400, "HTTP_MALFORMED"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, "HTTP_MALFORMED"),
    ],
    ids=[
        "long path", "long query", "many headers", "long header", "method no one knows", "method of WebDAV", "trace",
        "two lengths", "coding without chunks", "bare return", "TLS",
    ],
)  # fmt: skip
async def test_a_request_that_is_not_served_says_why_in_json(
    gateway: RunningGateway, text: bytes, status: int, code: str
) -> None:
    answer = await send_raw(gateway, text)
    assert (int(answer[9:12]), code.encode() in answer) == (status, True)
    assert b'"detail"' in answer
    assert b"x-request-id" in answer.lower()


async def test_a_transfer_encoding_besides_chunked_is_a_501(client: Client, gateway: RunningGateway) -> None:
    head = f"POST /api/v1/apps HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {client.key}\r\n"
    body = b"Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    answer = await send_raw(gateway, head.encode() + body)
    assert (answer[9:12], b"TRANSFER_ENCODING_UNSUPPORTED" in answer) == (b"501", True)


@pytest.mark.parametrize(
    ("target", "status"), [("POST /nothing", b"404"), ("PUT /api/v1/apps", b"405"), ("POST /api/v1/apps", b"401")]
)
async def test_a_refused_request_with_expect_gets_no_100(gateway: RunningGateway, target: str, status: bytes) -> None:
    """The client has not sent its body yet, and need not."""
    head = f"{target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    reader, writer = await connect(gateway)
    writer.write(head.encode())
    answer = await asyncio.wait_for(reader.readuntil(b"\r\n"), 30)
    writer.close()
    assert answer[9:12] == status


async def test_an_unknown_expectation_is_ignored(client: Client, gateway: RunningGateway) -> None:
    head = f"Host: x\r\nAuthorization: Bearer {client.key}\r\nExpect: miracles\r\nConnection: close\r\n\r\n"
    known = await send_raw(gateway, f"GET /healthz HTTP/1.1\r\n{head}".encode())
    unknown = await send_raw(gateway, f"GET /nothing HTTP/1.1\r\n{head}".encode())
    assert (known[9:12], unknown[9:12]) == (b"200", b"404")


async def test_a_chunked_body_that_is_broken_is_a_400(client: Client, gateway: RunningGateway) -> None:
    head = f"POST /api/v1/apps HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {client.key}\r\n"
    answer = await send_raw(gateway, head.encode() + b"Transfer-Encoding: chunked\r\n\r\nnonsense\r\n")
    assert answer[9:12] == b"400"


HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
ONE_REQUEST = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


async def test_idle_connections_give_way_to_new_ones_the_oldest_first(backends: FakeBackends) -> None:
    """Anyone can open connections, so those without a whole header must not keep out those with one."""
    async with run_gateway(backends, max_connections=20) as gateway:
        held = [await connect(gateway) for _ in range(20)]
        for _, writer in held[::2]:
            writer.write(b"GET /healthz HTTP/1.1\r\nX-Slow: ")
        reader, writer = held[1]
        writer.write(b"POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
        assert (await asyncio.wait_for(reader.readuntil(b"\r\n"), 30)).startswith(b"HTTP/1.1 404")
        new = [await connect(gateway) for _ in range(5)]
        for reader, writer in [*new, held[19]]:
            writer.write(HEALTH)
            assert (await asyncio.wait_for(reader.readuntil(b"\r\n"), 30)).startswith(b"HTTP/1.1 200")
        for reader, _ in held[:5]:
            await asyncio.wait_for(reader.read(), 30)
        assert not any(reader.at_eof() for reader, _ in held[5:])
        for _, writer in [*held, *new]:
            writer.close()


async def test_connections_beyond_the_limit_are_closed_at_once_while_all_have_requests(backends: FakeBackends) -> None:
    waiting, gate = 0, asyncio.Event()

    async def page(_: object) -> apps_pb2.ListAppsResponse:
        nonlocal waiting
        waiting += 1
        await gate.wait()
        return apps_pb2.ListAppsResponse(page=1)

    backends.on("ListApps", page)
    request = f"GET /api/v1/apps HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {script_api_key(backends)}\r\n\r\n"
    async with run_gateway(backends, max_connections=3) as gateway:
        busy = []
        for number in range(3):
            busy.append(await connect(gateway))
            busy[-1][1].write(request.encode())
            await eventually(lambda number=number: waiting == number + 1)  # type: ignore[misc]
        with suppress(ConnectionResetError):
            assert await send_raw(gateway, HEALTH) == b""
        gate.set()
        for reader, writer in busy:
            assert (await asyncio.wait_for(reader.readuntil(b"\r\n"), 30)).startswith(b"HTTP/1.1 200")
            writer.close()


def not_reading(gateway: RunningGateway, request: bytes) -> socket.socket:
    """A connection that has sent the request and reads nothing, with as small buffers as there are."""
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.connect(("127.0.0.1", int(gateway.http_address.split(":")[1])))
    slow.sendall(request)
    return slow


def listing(key: str) -> bytes:
    head = f"GET /api/v1/apps HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\r\n"
    return head.encode()


LONG_PAGE = apps_pb2.ListAppsResponse(items=[apps_pb2.App(description="x" * 30_000) for _ in range(450)])
DOCUMENT = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
FORM = b"POST /session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n"


@pytest.mark.parametrize("kind", ["list", "document", "half body"])
async def test_a_client_that_does_not_read_or_has_no_key_gives_way_to_others(
    client: Client, backends: FakeBackends, kind: str
) -> None:
    backends.on("ListApps", lambda _: LONG_PAGE)
    half_body = FORM + b"Expect: 100-continue\r\n\r\n{"
    request = {"list": listing(client.key), "document": DOCUMENT * 50, "half body": half_body}[kind]
    async with run_gateway(backends, max_connections=1) as gateway:
        with not_reading(gateway, request) as held:
            assert await asyncio.to_thread(held.recv, 1) == b"H"  # its answer has begun

            async def served() -> bool:
                with suppress(ConnectionError):
                    return (await send_raw(gateway, ONE_REQUEST)).startswith(b"HTTP/1.1 200")
                return False

            assert await eventually(served)


async def test_answers_that_are_not_read_are_bounded_for_each_organisation(backends: FakeBackends) -> None:
    backends.on("ListApps", lambda _: LONG_PAGE)
    size = sum(len(app.description) for app in LONG_PAGE.items)
    attacker, other = script_api_key(backends), script_api_key(backends, org_id="another")
    async with run_gateway(backends, organisation_unread_bytes=3 * size) as gateway:
        patient = not_reading(gateway, listing(other))
        held = [not_reading(gateway, listing(attacker)) for _ in range(5)]
        with structlog.testing.capture_logs() as logs:
            await eventually(lambda: [line["event"] for line in logs].count("answer_given_up") == 3)
        received = sorted([await asyncio.to_thread(count_received, slow) for slow in held])
        assert received[2] < 2 * UNSENT_BYTES  # all that the kernel had taken
        assert min(received[3], await asyncio.to_thread(count_received, patient)) > size


async def test_an_organisation_has_few_pages_under_way_at_once(backends: FakeBackends) -> None:
    """Each may take megabytes, in the service and here; what it waits for does not concern others."""
    gate = asyncio.Event()

    async def page(_: object) -> apps_pb2.ListAppsResponse:
        await gate.wait()
        return apps_pb2.ListAppsResponse(page=1)

    backends.on("ListApps", page)
    many, other = script_api_key(backends), script_api_key(backends, org_id="another")
    async with run_gateway(backends) as gateway:
        connections = [await connect(gateway) for _ in range(11)]
        for (_, writer), key in zip(connections, [*[many] * 10, other], strict=True):
            writer.write(
                f"GET /api/v1/apps?search=a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n".encode()
            )
        await eventually(lambda: "another" in backends.org_ids and len(backends.of("ListApps")) >= 5)
        assert len(backends.of("ListApps")) == 5
        gate.set()
        for reader, writer in connections:
            assert (await asyncio.wait_for(reader.readuntil(b"\r\n"), 30)).startswith(b"HTTP/1.1 200")
            writer.close()


async def test_pipelined_requests_are_answered_in_order(client: Client, gateway: RunningGateway) -> None:
    request = b"GET /api/v1/nothing%d HTTP/1.1\r\nHost: x\r\nX-Request-ID: number-%d\r\n\r\n"
    answer = await send_raw(gateway, b"".join(request % (number, number) for number in range(5)))
    assert [answer.index(b"number-%d" % number) for number in range(5)] == sorted(
        answer.index(b"number-%d" % number) for number in range(5)
    )


def count_received(connection: socket.socket) -> int:
    """The number of bytes until the other side closes the connection."""
    size = 0
    with suppress(ConnectionResetError):
        while received := connection.recv(65536):
            size += len(received)
    return size


async def test_a_client_that_does_not_read_its_response_is_disconnected(
    client: Client, gateway: RunningGateway, backends: FakeBackends
) -> None:
    apps = [apps_pb2.App(id=str(uuid4()), description="x" * 30_000) for _ in range(450)]
    backends.on("ListApps", lambda _: apps_pb2.ListAppsResponse(items=apps))
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", int(gateway.http_address.split(":")[1])))
        slow.sendall(f"GET /api/v1/apps HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {client.key}\r\n\r\n".encode())
        with structlog.testing.capture_logs() as logs:
            await eventually(lambda: "answer_not_taken" in [line["event"] for line in logs])
        assert 0 < await asyncio.to_thread(count_received, slow) < 450 * 30_000


async def test_shutdown_lets_requests_finish_and_closes_event_streams(backends: FakeBackends) -> None:
    reached, gate = asyncio.Event(), asyncio.Event()

    async def page(_: object) -> apps_pb2.ListAppsResponse:
        reached.set()
        await gate.wait()
        return apps_pb2.ListAppsResponse(page=1)

    backends.hang("WatchExecution")
    backends.on("ListApps", page)
    key = script_api_key(backends)
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {key}"}) as session:
        async with run_gateway(backends, shutdown_grace_seconds=5) as app:
            watching = await session.get(f"{app.url}/api/v1/executions/{uuid4()}/events")
            listing = asyncio.create_task(session.get(f"{app.url}/api/v1/apps"))
            await reached.wait()
            asyncio.get_running_loop().call_later(0.1, gate.set)
        assert (await listing).status == 200
        assert b"still here" in await watching.read()
