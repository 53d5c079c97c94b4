"""A service of the tests' own on the protos of the catalog: notes what it saw and does what it is told."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from google.api import httpbody_pb2
from mobiletest.catalog.v1 import apps_pb2, apps_pb2_grpc, builds_pb2, builds_pb2_grpc

from services.chassis import context, grpc_server
from services.chassis.context import Caller
from services.chassis.fair_turns import FairTurns
from services.chassis.grpc_channel import Channel
from services.chassis.health import Health
from services.chassis.idempotency import Idempotency
from services.chassis.ids import new_id
from services.chassis.request_interceptor import KnownOrganisations
from services.chassis.settings import ProcessSettings
from services.chassis.tls import TlsFiles
from tests.callers import any_organisation
from tests.unit.chassis.samples import TOKEN, process_settings

APPS = apps_pb2.DESCRIPTOR.services_by_name["Apps"]
BUILDS = builds_pb2.DESCRIPTOR.services_by_name["Builds"]


async def nothing() -> None:
    """What a servicer does when it is told nothing else."""


def raising(error: Exception) -> Callable[[], Awaitable[None]]:
    """What a servicer does that fails with the error."""

    async def fail() -> None:
        raise error

    return fail


class Apps(apps_pb2_grpc.AppsServicer):
    """Answers with what it was asked; notes each call: its caller, its connection and the time that it had left."""

    def __init__(self) -> None:
        self.callers: list[Caller] = []
        self.time_left: list[float | None] = []
        self.requests: list[Any] = []
        self.peers: list[str] = []
        self.ids: list[str] = []
        self.then: Callable[[], Awaitable[None]] = nothing

    async def CreateApp(self, request: apps_pb2.CreateAppRequest, _: object) -> apps_pb2.App:  # noqa: N802
        id_ = new_id()
        self.ids.append(id_)
        await self._note(request)
        return apps_pb2.App(id=id_, name=request.name)

    async def ListApps(self, request: apps_pb2.ListAppsRequest, called: Any) -> apps_pb2.ListAppsResponse:  # noqa: N802
        self.peers.append(called.peer())
        await self._note(request)
        return apps_pb2.ListAppsResponse()

    async def _note(self, request: object) -> None:
        self.callers.append(context.current())
        self.time_left.append(context.time_remaining())
        self.requests.append(request)
        await self.then()


class Builds(builds_pb2_grpc.BuildsServicer):
    """Counts the bytes that come, and sends pieces (`between` them it waits) until nobody listens."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()
        self.pieces = 3
        self.between: Callable[[], Awaitable[object]] = nothing

    async def UploadBuild(  # noqa: N802
        self, requests: AsyncIterator[builds_pb2.UploadBuildRequest], _: object
    ) -> builds_pb2.Build:
        size = 0
        async for request in requests:
            size += len(request.chunk)
        return builds_pb2.Build(size_bytes=size, id=context.current().org_id)

    async def DownloadBuild(  # noqa: N802
        self, request: builds_pb2.DownloadBuildRequest, _: object
    ) -> AsyncIterator[httpbody_pb2.HttpBody]:
        try:
            for number in range(self.pieces):
                yield httpbody_pb2.HttpBody(data=context.current().org_id.encode() + bytes([number]))
                await asyncio.sleep(0)
                await self.between()
        finally:
            self.closed.set()


@dataclass
class Probe:
    """The running service and a channel to it."""

    address: str
    channel: Channel
    apps: Apps
    builds: Builds
    health: Health
    stub: apps_pb2_grpc.AppsStub = field(init=False)
    builds_stub: builds_pb2_grpc.BuildsStub = field(init=False)

    def __post_init__(self) -> None:
        self.stub = apps_pb2_grpc.AppsStub(self.channel)
        self.builds_stub = builds_pb2_grpc.BuildsStub(self.channel)


@asynccontextmanager
async def serving(
    settings: ProcessSettings | None = None,
    *,
    organisations: KnownOrganisations | None = None,
    idempotency: Idempotency | None = None,
    page_turns: FairTurns | None = None,
    health: Health | None = None,
    tls: TlsFiles | None = None,
) -> AsyncIterator[Probe]:
    """The service inside of the block, with a channel that knows which of its methods may be repeated."""
    apps, builds, health = Apps(), Builds(), health or Health()
    servicers: list[grpc_server.Servicer] = [
        (apps_pb2_grpc.add_AppsServicer_to_server, apps, APPS.full_name),
        (builds_pb2_grpc.add_BuildsServicer_to_server, builds, BUILDS.full_name),
    ]
    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(
            grpc_server.serve(
                settings or process_settings(),
                servicers,
                health=health,
                organisations=organisations or any_organisation(),
                page_turns=page_turns,
                idempotency=idempotency,
            )
        )
        channel = await stack.enter_async_context(
            grpc_server.open_channel(address, TOKEN, services=[APPS, BUILDS], timeout=5.0, tls=tls)
        )
        yield Probe(address, channel, apps, builds, health)
