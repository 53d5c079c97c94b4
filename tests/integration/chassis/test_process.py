"""A service as a process: start, health, failure and shutdown."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import aiohttp
import grpc
from mobiletest.catalog.v1 import apps_pb2, apps_pb2_grpc
from pymongo.uri_parser import parse_uri

from deploy.local.child import Child, ChildSpec
from deploy.local.ports import LOOPBACK, Ports
from services.chassis import grpc_server, outbox
from services.chassis.context import ALL_SCOPES, Caller, bind
from services.chassis.migrations import Migration, migrate
from services.chassis.mongo import Mongo
from tests.callers import callers
from tests.eventually import eventually
from tests.integration.chassis.proxies import TcpProxy
from tests.unit.chassis.samples import TOKEN

APP_ID = "6f1b1f0e-5b0f-4d3e-9d1c-6d1f2a7c9b10"


@dataclass
class Process:
    """The sample service; `folder` has its addresses and its log."""

    child: Child
    folder: Path

    async def get(self, path: str) -> int:
        """The HTTP status of the admin port; 0 without an answer."""
        if not (self.folder / "admin").exists():
            return 0
        try:
            async with aiohttp.ClientSession() as client:
                address = (self.folder / "admin").read_text()
                async with client.get(f"http://{address}{path}") as response:
                    return response.status
        except aiohttp.ClientError:
            return 0

    async def ready(self) -> None:
        await eventually(lambda: self._answers("/readyz", 200))

    async def _answers(self, path: str, status: int) -> bool:
        self.child.check()
        return await self.get(path) == status

    async def alive_but_not_ready(self) -> bool:
        return await self.get("/healthz") == 200 and await self.get("/readyz") == 503

    @asynccontextmanager
    async def stub(self) -> AsyncIterator[apps_pb2_grpc.AppsStub]:
        async with grpc_server.open_channel((self.folder / "grpc").read_text(), TOKEN) as channel:
            with bind(Caller("org-1", scopes=ALL_SCOPES)):
                yield apps_pb2_grpc.AppsStub(channel)

    async def ended(self) -> int:
        """Wait for its end; its exit code."""
        await eventually(lambda: not self.child.running)
        assert self.child.exit_code is not None
        return self.child.exit_code

    def log(self) -> str:
        return self.child.spec.log.read_text()


@asynccontextmanager
async def process(folder: Path, mongo_uri: str, **environment: str) -> AsyncIterator[Process]:
    variables: Mapping[str, str] = {
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "MOBILETEST_SERVICE_TOKEN": TOKEN,
        "MOBILETEST_CALLERS": callers(TOKEN, "operator"),
        "MOBILETEST_MONGO_URI": mongo_uri,
        "MOBILETEST_KAFKA_BOOTSTRAP": "127.0.0.1:9",
        "MOBILETEST_SAMPLE_DATABASE": f"test_{uuid4().hex}",
        "MOBILETEST_SAMPLE_FOLDER": str(folder),
        **environment,
    }
    argv = [sys.executable, "-m", "tests.integration.chassis.sample_service"]
    child = Child(ChildSpec("sample", argv, folder / "sample.log", variables, grace=10.0))
    child.start()
    try:
        yield Process(child, folder)
    finally:
        await child.stop()


async def test_a_service_outlives_an_older_version_and_finishes_its_calls_after_sigterm(
    tmp_path: Path, mongo_uri: str
) -> None:
    """The older version does not start on a newer schema: what happens in a rollout, and in `kubectl rollout undo`
    (docs/runbooks/roll-back.md).
    """
    database = f"test_{uuid4().hex}"
    (undone := tmp_path / "undone").mkdir()
    async with process(tmp_path, mongo_uri, MOBILETEST_SAMPLE_DATABASE=database) as sample:
        await sample.ready()
        assert await sample.get("/healthz") == 200
        assert await sample.get("/metrics") == 200
        await _migrate_further(mongo_uri, database)
        async with process(undone, mongo_uri, MOBILETEST_SAMPLE_DATABASE=database) as older:
            older.child.expected_to_run = False
            assert await older.ended() == 1
        (line,) = [line for line in older.log().splitlines() if "service_failed" in line]
        for words in ("SchemaIsNewer", "0099_newer", "docs/runbooks/roll-back.md"):
            assert words in line
        assert await sample.get("/readyz") == 200
        await finishes_a_call_after_sigterm(sample)


async def finishes_a_call_after_sigterm(sample: Process) -> None:
    async with sample.stub() as stub:
        call = asyncio.ensure_future(_list(stub))
        await eventually((sample.folder / "entered").exists)
        sample.child.expected_to_run = False
        sample.child.send(signal.SIGTERM)
        await eventually(lambda: '"stopping"' in sample.log())
        (sample.folder / "go").touch()
        assert (await call).total == 7
    assert await sample.ended() == 0


async def test_a_service_waits_for_its_database_and_ends_with_a_task_that_dies(tmp_path: Path, mongo_uri: str) -> None:
    with Ports() as ports:
        database = TcpProxy(ports.take(), parse_uri(mongo_uri)["nodelist"][0][1])
        async with process(tmp_path, f"mongodb://{LOOPBACK}:{database.port}/?directConnection=true") as sample:
            await eventually(sample.alive_but_not_ready)
            await database.start()
            await sample.ready()
            await database.stop()
            await eventually(sample.alive_but_not_ready)
            await database.start()
            await sample.ready()
            sample.child.expected_to_run = False
            async with sample.stub() as stub:
                await eventually(lambda: _accepts(stub))
            assert await sample.ended() == 1
        await database.stop()
    (line,) = [line for line in sample.log().splitlines() if "background_task_died" in line]
    assert json.loads(line)["task"] == "doomed"
    assert "LookupError: this part is broken" in json.loads(line)["exception"]


async def _migrate_further(mongo_uri: str, database: str) -> None:
    """What a newer version does at its start."""

    async def add_nothing(_: Mongo) -> None: ...

    mongo = await Mongo.connect(mongo_uri, database)
    try:
        await migrate(mongo, [outbox.MIGRATION, Migration("0099_newer", add_nothing)])
    finally:
        await mongo.close()


async def _accepts(stub: apps_pb2_grpc.AppsStub) -> bool:
    """Whether calls are no longer refused for the outage."""
    try:
        await stub.GetApp(apps_pb2.GetAppRequest(app_id=APP_ID))
    except grpc.aio.AioRpcError:
        return False
    return True


async def _list(stub: apps_pb2_grpc.AppsStub) -> apps_pb2.ListAppsResponse:
    response: apps_pb2.ListAppsResponse = await stub.ListApps(apps_pb2.ListAppsRequest())
    return response
