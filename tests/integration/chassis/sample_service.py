"""A small service as a process of its own: MongoDB, an outbox, a gRPC server, and a part that dies when told to."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from mobiletest.catalog.v1 import apps_pb2, apps_pb2_grpc

from services.chassis import grpc_server, outbox
from services.chassis.health import AdminServer, Health
from services.chassis.lifecycle import Background, main
from services.chassis.migrations import open_migrated
from services.chassis.outbox_relay import OutboxRelay
from services.chassis.producer import Producer
from services.chassis.settings import ProcessSettings
from tests.callers import any_organisation
from tests.eventually import eventually


class Settings(ProcessSettings):
    sample_database: str
    sample_folder: Path


@dataclass(frozen=True)
class App:
    background: Background


class Apps(apps_pb2_grpc.AppsServicer):
    """ListApps answers after it has seen the file `go`; GetApp kills a background task."""

    def __init__(self, folder: Path, background: Background) -> None:
        self._folder = folder
        self._background = background

    async def ListApps(self, _: object, __: object) -> apps_pb2.ListAppsResponse:  # noqa: N802
        (self._folder / "entered").touch()
        await eventually((self._folder / "go").exists)
        return apps_pb2.ListAppsResponse(total=7)

    async def GetApp(self, _: object, __: object) -> apps_pb2.App:  # noqa: N802
        self._background.start("doomed", _die())
        return apps_pb2.App()


async def _die() -> None:
    raise LookupError("this part is broken")


@asynccontextmanager
async def start_app(settings: Settings) -> AsyncIterator[App]:
    async with AsyncExitStack() as stack:
        background = await stack.enter_async_context(Background())
        health = Health()
        admin = await stack.enter_async_context(AdminServer(settings.admin_listen, health))
        (settings.sample_folder / "admin").write_text(admin.address)
        database = open_migrated(
            settings.mongo_uri, settings.sample_database, [outbox.MIGRATION], settings.mongo_driver
        )
        mongo = await stack.enter_async_context(database)
        health.register("mongodb", mongo.ping)
        producer = await stack.enter_async_context(Producer(settings.kafka_bootstrap, {}, idempotence=False))
        relay = OutboxRelay(mongo, outbox.Outbox(mongo, "sample"), producer)
        await stack.enter_async_context(background.run("relay", relay.run()))
        servicer: grpc_server.Servicer = (
            apps_pb2_grpc.add_AppsServicer_to_server,
            Apps(settings.sample_folder, background),
            "mobiletest.catalog.v1.Apps",
        )
        serving = grpc_server.serve(
            settings, [servicer], health=health, organisations=any_organisation(), page_turns=None
        )
        address = await stack.enter_async_context(serving)
        (settings.sample_folder / "grpc").write_text(address)
        await stack.enter_async_context(health.mark_ready(background))
        yield App(background)


if __name__ == "__main__":
    main(start_app, Settings)
