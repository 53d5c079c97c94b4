"""Liveness and readiness of this process: named checks, reported over HTTP and grpc.health.v1."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

from aiohttp import web
from grpc_health.v1 import health_pb2
from grpc_health.v1.health import aio as grpc_health

from services.chassis import logs, metrics
from services.chassis.errors import Unavailable
from services.chassis.lifecycle import Background

Check = Callable[[], Awaitable[None]]
Affects = Literal["readiness", "liveness"]

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
    async def mark_ready(self, background: Background) -> AsyncIterator[None]:
        """Ready inside the block, if the checks pass: enter it as the last of a service's resources."""
        async with background.run("health", self.run()):
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
    """/healthz, /readyz and /metrics on a separate, internal port."""

    def __init__(self, listen: str, health: Health) -> None:
        self._listen = listen
        self._health = health
        self._runner: web.AppRunner | None = None
        self.address = ""

    async def __aenter__(self) -> "AdminServer":
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._metrics)
        self._runner = web.AppRunner(app, access_log=None, keepalive_timeout=75)
        await self._runner.setup()
        host, _, port = self._listen.rpartition(":")
        await web.TCPSite(self._runner, host, int(port)).start()
        bound = self._runner.addresses[0]
        self.address = f"{bound[0]}:{bound[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _healthz(self, _: web.Request) -> web.Response:
        return _respond(await self._health.liveness())

    async def _readyz(self, _: web.Request) -> web.Response:
        return _respond(await self._health.readiness())

    async def _metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=metrics.render(), headers={"Content-Type": metrics.CONTENT_TYPE})


def _respond(report: HealthReport) -> web.Response:
    body = {"status": "ok" if report.ok else "failing", "failures": report.failures}
    return web.json_response(body, status=200 if report.ok else 503)
