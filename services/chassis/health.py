"""Liveness and readiness of this process: named checks, reported over HTTP and grpc.health.v1."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, nullcontext, suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal

import orjson
from grpc_health.v1 import health_pb2
from grpc_health.v1.health import aio as grpc_health

from services.chassis import logs, metrics
from services.chassis.errors import Unavailable
from services.chassis.lifecycle import Background

Check = Callable[[], Awaitable[None]]
Affects = Literal["readiness", "liveness"]

MAX_REQUEST_BYTES = 16 * 1024
# For a request to the admin port and its answer.
REQUEST_SECONDS = 10.0
# Of a client that has gone, or does not speak HTTP.
_NOT_HTTP = (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)

log = logs.get(__name__)


@dataclass(frozen=True, slots=True)
class HealthReport:
    """The result of all checks of one kind: the failed ones with their errors."""

    failures: dict[str, str]
    unavailable: Unavailable | None = None

    @property
    def ok(self) -> bool:
        return not self.failures


class Health:
    """The named checks of one process. A check is an async function that raises when its part is unhealthy.

    Not ready before `started()` and after `stopping()`. The outage of a dependency affects
    readiness, never liveness: a restart does not repair a database. While a readiness check raises Unavailable,
    `unavailable` is that error, so that calls can be answered with it at once instead of waiting for the dependency;
    `on_unavailable` is called at each of these checks.
    """

    def __init__(self, check_timeout: float = 1.0) -> None:
        self._checks: dict[str, tuple[Check, Affects]] = {}
        self._timeout = check_timeout
        self._state = "starting"
        self.unavailable: Unavailable | None = None
        self.on_unavailable: Callable[[], None] = lambda: None
        self.servicer = grpc_health.HealthServicer()
        self._services: list[str] = [""]

    def register(self, name: str, check: Check, *, affects: Affects = "readiness") -> None:
        """Add a check, under a name that an operator understands."""
        self._checks[name] = (check, affects)

    def serve(self, services: list[str]) -> None:
        """The gRPC services whose health is that of this process."""
        self._services = ["", *services]

    async def started(self) -> None:
        """Everything is up: from now on the checks decide whether the process is ready."""
        self._state = "running"
        await self.publish()

    async def stopping(self) -> None:
        """Not ready any more, so that new requests go elsewhere."""
        self._state = "stopping"
        await self.servicer.enter_graceful_shutdown()

    async def readiness(self) -> HealthReport:
        if self._state != "running":
            return HealthReport({"process": self._state})
        return await self._run("readiness")

    async def liveness(self) -> HealthReport:
        return await self._run("liveness")

    async def publish(self) -> None:
        """Update grpc.health.v1 and `unavailable` from the readiness checks."""
        report = await self.readiness()
        self.unavailable, ok = report.unavailable, report.ok
        if self.unavailable is not None:
            self.on_unavailable()
        serving = health_pb2.HealthCheckResponse.SERVING if ok else health_pb2.HealthCheckResponse.NOT_SERVING
        for service in self._services:
            await self.servicer.set(service, serving)

    async def run(self, every: float = 1.0) -> None:
        """Publish periodically until cancelled."""
        while True:
            await self.publish()
            await asyncio.sleep(every)

    @asynccontextmanager
    async def mark_ready(self, background: Background, *, watched: bool = True) -> AsyncIterator[None]:
        """Ready inside the block, if the checks pass: enter it as the last of a service's resources.

        Unless `watched`, the checks are made only for those who ask the admin port.
        """
        async with background.run("health", self.run()) if watched else nullcontext():
            await self.started()
            try:
                yield
            finally:
                await self.stopping()

    async def _run(self, affects: Affects) -> HealthReport:
        chosen = {name: check for name, (check, kind) in self._checks.items() if kind == affects}
        errors = await asyncio.gather(*(self._ask(check) for check in chosen.values()))
        failures = {name: str(error) or repr(error) for name, error in zip(chosen, errors, strict=True) if error}
        return HealthReport(failures, next((error for error in errors if isinstance(error, Unavailable)), None))

    async def _ask(self, check: Check) -> Exception | None:
        try:
            async with asyncio.timeout(self._timeout):
                await check()
        except TimeoutError:
            return TimeoutError(f"no answer within {self._timeout:g} s")
        except Exception as error:
            return error
        return None


class AdminServer:
    """/healthz, /readyz and /metrics on a separate, internal port.

    Some lines on asyncio, because aiohttp takes 9 MiB, and two services need it for nothing else. It answers one
    request per connection.
    """

    def __init__(self, listen: str, health: Health) -> None:
        self._listen = listen
        self._health = health
        self._server: asyncio.Server | None = None
        self.address = ""

    async def __aenter__(self) -> "AdminServer":
        host, _, port = self._listen.rpartition(":")
        self._server = await asyncio.start_server(self._serve, host.strip("[]"), int(port), limit=MAX_REQUEST_BYTES)
        bound = self._server.sockets[0].getsockname()
        self.address = f"{bound[0]}:{bound[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(*_NOT_HTTP):
            async with asyncio.timeout(REQUEST_SECONDS):
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(await self._answer(request.partition(b"\r\n")[0]))
                await writer.drain()

    async def _answer(self, request_line: bytes) -> bytes:
        method, _, target = request_line.partition(b" ")
        path = target.partition(b" ")[0].partition(b"?")[0]
        if method not in (b"GET", b"HEAD"):
            return _response(405, "text/plain", b"only GET and HEAD\n", body=True)
        match path:
            case b"/healthz":
                answer = _report(await self._health.liveness())
            case b"/readyz":
                answer = _report(await self._health.readiness())
            case b"/metrics":
                answer = (200, metrics.CONTENT_TYPE, metrics.render())
            case _:
                answer = (404, "text/plain", b"not found\n")
        return _response(*answer, body=method == b"GET")


def _report(report: HealthReport) -> tuple[int, str, bytes]:
    content = {"status": "ok" if report.ok else "failing", "failures": report.failures}
    return 200 if report.ok else 503, "application/json; charset=utf-8", orjson.dumps(content)


def _response(status: int, content_type: str, content: bytes, *, body: bool) -> bytes:
    """`body`: False for HEAD."""
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: {content_type}\r\n"
        f"Content-Length: {len(content)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (content if body else b"")
