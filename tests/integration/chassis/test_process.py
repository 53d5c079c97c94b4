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
from mobiletest.catalog.v1 import apps_pb2, apps_pb2_grpc

from deploy.local.child import Child, ChildSpec
from deploy.local.mongod import Mongod
from services.chassis import grpc_server, outbox
from services.chassis.context import ALL_SCOPES, Caller, bind
from services.chassis.migrations import Migration, migrate
from services.chassis.mongo import Mongo
from tests.callers import callers
from tests.eventually import eventually
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
        await eventually(lambda: self._answers("/readyz", 200), within=60)

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
        await eventually(lambda: not self.child.running, within=30)
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


async def test_a_service_is_ready_serves_metrics_and_stops_on_sigint(tmp_path: Path, mongo_uri: str) -> None:
    async with process(tmp_path, mongo_uri) as sample:
        await sample.ready()
        assert await sample.get("/healthz") == 200
        assert await sample.get("/metrics") == 200
        sample.child.expected_to_run = False
        sample.child.send(signal.SIGINT)
        assert await sample.ended() == 0


async def test_running_calls_finish_after_sigterm(tmp_path: Path, mongo_uri: str) -> None:
    async with process(tmp_path, mongo_uri) as sample:
        await sample.ready()
        async with sample.stub() as stub:
            call = asyncio.ensure_future(_list(stub))
            await eventually((tmp_path / "entered").exists)
            sample.child.expected_to_run = False
            sample.child.send(signal.SIGTERM)
            await eventually(lambda: '"stopping"' in sample.log())
            (tmp_path / "go").touch()
            assert (await call).total == 7
        assert await sample.ended() == 0


async def test_a_dying_background_task_ends_the_process_with_exit_code_1(tmp_path: Path, mongo_uri: str) -> None:
    async with process(tmp_path, mongo_uri) as sample:
        await sample.ready()
        sample.child.expected_to_run = False
        async with sample.stub() as stub:
            await stub.GetApp(apps_pb2.GetAppRequest(app_id=APP_ID))
        assert await sample.ended() == 1
    (line,) = [line for line in sample.log().splitlines() if "background_task_died" in line]
    assert json.loads(line)["task"] == "doomed"
    assert "LookupError: this part is broken" in json.loads(line)["exception"]


async def test_a_service_without_database_is_alive_and_becomes_ready_later(tmp_path: Path, own_mongod: Mongod) -> None:
    await own_mongod.stop()
    async with process(tmp_path, own_mongod.uri) as sample:
        await eventually(sample.alive_but_not_ready, within=30)
        await own_mongod.start()
        await sample.ready()
        await own_mongod.child.kill()
        await eventually(sample.alive_but_not_ready, within=30)
        await own_mongod.start()
        await sample.ready()


async def test_a_signal_stops_a_service_that_waits_for_its_database(tmp_path: Path) -> None:
    async with process(tmp_path, "mongodb://127.0.0.1:9") as sample:
        await eventually(sample.alive_but_not_ready, within=30)
        sample.child.expected_to_run = False
        sample.child.send(signal.SIGTERM)
        assert await sample.ended() == 0


async def test_an_older_version_does_not_start_on_a_newer_schema_while_one_that_runs_goes_on(
    tmp_path: Path, mongo_uri: str
) -> None:
    """What happens in a rollout, and in `kubectl rollout undo` (docs/runbooks/roll-back.md)."""
    database = f"test_{uuid4().hex}"
    running, undone = tmp_path / "running", tmp_path / "undone"
    running.mkdir()
    undone.mkdir()
    async with process(running, mongo_uri, MOBILETEST_SAMPLE_DATABASE=database) as older:
        await older.ready()
        await _migrate_further(mongo_uri, database)
        async with process(undone, mongo_uri, MOBILETEST_SAMPLE_DATABASE=database) as sample:
            sample.child.expected_to_run = False
            assert await sample.ended() == 1
        assert await older.get("/readyz") == 200
    (line,) = [line for line in sample.log().splitlines() if "service_failed" in line]
    assert "SchemaIsNewer" in line
    assert "0099_newer" in line
    assert "docs/runbooks/roll-back.md" in line


async def _migrate_further(mongo_uri: str, database: str) -> None:
    """What a newer version does at its start."""

    async def add_nothing(_: Mongo) -> None: ...

    mongo = await Mongo.connect(mongo_uri, database)
    try:
        await migrate(mongo, [outbox.MIGRATION, Migration("0099_newer", add_nothing)])
    finally:
        await mongo.close()


async def test_invalid_settings_end_the_process_with_exit_code_2(tmp_path: Path, mongo_uri: str) -> None:
    async with process(tmp_path, mongo_uri, MOBILETEST_LOG_LEVEL="loud") as sample:
        sample.child.expected_to_run = False
        assert await sample.ended() == 2
    assert "MOBILETEST_LOG_LEVEL: " in sample.log()


async def _list(stub: apps_pb2_grpc.AppsStub) -> apps_pb2.ListAppsResponse:
    response: apps_pb2.ListAppsResponse = await stub.ListApps(apps_pb2.ListAppsRequest())
    return response
