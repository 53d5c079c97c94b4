"""Is this process alive, and may it get traffic: named checks, shown over HTTP and over grpc.health.v1."""

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
    """The result of all checks of one kind: what failed, and why."""

    failures: dict[str, str]
    unavailable: Unavailable | None = None

    @property
    def ok(self) -> bool:
        return not self.failures


class Health:
    """The named checks of one process. A check is an async function that raises when its part is not well.

    Not ready before `started()` and after `stopping()`. A dependency's outage belongs to readiness, never to
    liveness: a restart does not mend a broken database. While a readiness check raises Unavailable, `refusal` has that
    error: calls can be answered with it at once, which else would all wait for the same thing.
    """

    def __init__(self, check_timeout: float = 1.0) -> None:
        self._checks: dict[str, tuple[Check, Affects]] = {}
        self._timeout = check_timeout
        self._state = "starting"
        self.unavailable: Unavailable | None = None
        self.servicer = grpc_health.HealthServicer()
        self._services: list[str] = [""]

    def register(self, name: str, check: Check, *, affects: Affects = "readiness") -> None:
        """Add a check, under a name that a person on call understands."""
        self._checks[name] = (check, affects)

    def serve(self, services: list[str]) -> None:
        """Name the gRPC services whose health is that of this process."""
        self._services = ["", *services]

    async def started(self) -> None:
        """Everything is up: from now on the checks decide."""
        self._state = "running"
        await self.publish()

    async def stopping(self) -> None:
        """Not ready any more, for good: new work shall go elsewhere."""
        self._state = "stopping"
        await self.servicer.enter_graceful_shutdown()

    async def readiness(self) -> HealthReport:
        if self._state != "running":
            return HealthReport({"process": self._state})
        return await self._run("readiness")

    async def liveness(self) -> HealthReport:
        return await self._run("liveness")

    async def publish(self) -> None:
        """Bring grpc.health.v1 and `refusal` up to date."""
        report = await self.readiness()
        self.unavailable, ok = report.unavailable, report.ok
        serving = health_pb2.HealthCheckResponse.SERVING if ok else health_pb2.HealthCheckResponse.NOT_SERVING
        for service in self._services:
            await self.servicer.set(service, serving)

    async def run(self, every: float = 1.0) -> None:
        """Keep grpc.health.v1 up to date for ever (a background task)."""
        while True:
            await self.publish()
            await asyncio.sleep(every)

    @asynccontextmanager
    async def mark_ready(self, background: Background) -> AsyncIterator[None]:
        """Ready inside the block (as far as the checks say so): the innermost of a service's resources."""
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
    """/healthz, /readyz and /metrics on a port of their own, which is not for customers."""

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
