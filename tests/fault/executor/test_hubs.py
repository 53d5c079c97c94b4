"""F29: a worker, or the hub itself, dies in the middle of a session. No session is left behind, and no device is lost.

On a real Appium server with its fake driver, whose sessions would live on for a minute and more by themselves; what is
left on phones is tried on a hub that plays one.
"""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
from mobiletest.executor.v1 import executions_pb2 as pb
from mobiletest.types.v1 import execution_pb2
from pymongo import MongoClient

from deploy.devices import hubs
from deploy.devices.hubs import Hub
from mobiletest_automation.model.devices import Session
from services.chassis.context import ALL_SCOPES, Caller, bind
from tests.eventually import eventually
from tests.fault.counting import record
from tests.fault.executor.conftest import LEASE_SECONDS, Workers
from tests.fault.executor.test_workers import check_history
from tests.hubs import appium, start_hub
from tests.integration.executor.catalog_server import Shelf
from tests.integration.executor.conftest import Client
from tests.integration.executor.devices.phone_hub import OWN, PhoneHub, app_file, phone_pool, serving_phone

__all__ = ["appium"]

APP = (Path(__file__).parents[2] / "devices" / "pages" / "app.xml").read_bytes()
SECRET = "the account of Ada"
SEE = 'I see "Accounts"'
REAPER_SECONDS = 1.0
BOUND = LEASE_SECONDS + REAPER_SECONDS
KILLS = int(os.environ.get("KILLS", "2"))
LOST = (execution_pb2.FAILURE_CATEGORY_SESSION_LOST, execution_pb2.FAILURE_CATEGORY_NETWORK_ERROR)

Noted = Callable[[], Awaitable[Session]]


@pytest.fixture
def two_hubs() -> Iterator[list[Hub]]:
    """Two Appium servers that a test can kill."""
    first, second = start_hub(hubs.appium), start_hub(hubs.appium)
    yield [next(first), next(second)]
    for hub in (second, first):
        next(hub, None)


@pytest.fixture
def noted(mongo_client: MongoClient[dict[str, Any]], mongo_database: str) -> Noted:
    """Waits for a session in a lease."""

    def look() -> Session | None:
        run = mongo_client[mongo_database]["runs"].find_one({"lease.session": {"$exists": True}})
        return Session(**run["lease"]["session"]) if run else None

    async def wait() -> Session:
        session = await eventually(lambda: asyncio.to_thread(look))
        assert session is not None
        return session

    return wait


@pytest.fixture
def no_orphans(mongo_client: MongoClient[dict[str, Any]], mongo_database: str) -> Callable[[], bool]:
    runs = mongo_client[mongo_database]["runs"]
    return lambda: runs.find_one({"orphans.id": {"$exists": True}}) is None


def pool(name: str, hub: Hub, *, slots: int = 1) -> str:
    capabilities = "{platformName: Fake, 'appium:automationName': Fake, 'appium:deviceName': Fake}"
    return (
        f"  - {{name: {name}, platform: android, kind: webdriver, slots: {slots}, url: '{hub.url}',"
        f" capabilities: {capabilities}}}\n"
    )


def use(workers: Workers, folder: Path, *pools: str) -> None:
    """Configure the workers with these pools."""
    path = folder / "pools.yaml"
    path.write_text("pools:\n" + "".join(pools))
    workers.environment["MOBILETEST_DEVICE_POOLS"] = str(path)
    workers.environment["MOBILETEST_EXECUTOR_FILES_FOLDER"] = str(folder / "files")


def workflow(shelf: Shelf, steps: int = 250) -> str:
    """One run that takes some seconds on the fake driver."""
    build_id = shelf.build(APP)
    return shelf.workflow(shelf.planned(*[SEE] * steps, build_id=build_id, file_name="app.xml"))


async def is_open(session: Session) -> bool:
    async with (
        aiohttp.ClientSession() as client,
        client.get(f"{session.hub}/session/{session.id}/source") as answer,
    ):
        assert answer.status in (200, 404), await answer.text()
        return answer.status == 200


async def is_gone(session: Session) -> bool:
    return not await is_open(session)


@pytest.mark.timeout(1800)
async def test_sessions_of_killed_workers_are_deleted_and_their_devices_reused(
    executor: Any,
    connect: Any,
    shelf: Shelf,
    workers: Workers,
    tmp_path: Path,
    appium: Hub,
    noted: Noted,
    no_orphans: Callable[[], bool],
) -> None:
    """The reaping process deletes them without any worker; the next attempt gets the only slot."""
    use(workers, tmp_path, pool("only", appium))
    seconds = []
    async with executor(executor_role="api", lease_seconds=LEASE_SECONDS) as api, connect(api.grpc_address) as client:
        worker = await workers.start()
        for _ in range(KILLS):
            execution_id = await client.start(workflow(shelf))
            session = await noted()
            assert await is_open(session)
            await workers.end(worker, signal.SIGKILL)
            killed_at = monotonic()
            gone: bool = await eventually(lambda session=session: is_gone(session), within=BOUND + 10)  # type: ignore[misc]
            assert gone
            seconds.append(round(monotonic() - killed_at, 1))
            await eventually(no_orphans)
            lost, worker = worker, await workers.start()
            assert (await client.ended(execution_id)).success
            [run] = await client.runs(execution_id)
            # On a busy machine the new worker may lose a lease of 3 s too, and then begins once more.
            assert list(dict.fromkeys(attempt.worker for attempt in run.attempts)) == [lost, worker]
            assert run.attempts[-1].device == "only-1"
            await check_history(client, execution_id)
    record("F29", "sessions of killed workers", tried=KILLS, survived=KILLS, seconds=seconds, bound=BOUND)


async def test_shutdown_deletes_the_session_before_the_run_is_handed_back(
    executor: Any, connect: Any, shelf: Shelf, workers: Workers, tmp_path: Path, appium: Hub, noted: Noted
) -> None:
    use(workers, tmp_path, pool("only", appium))
    workers.environment["MOBILETEST_LEASE_SECONDS"] = "60"
    async with executor(executor_role="api", lease_seconds=60.0) as api, connect(api.grpc_address) as client:
        first = await workers.start()
        execution_id = await client.start(workflow(shelf))
        session = await noted()
        assert await workers.end(first, signal.SIGTERM) == 0
        assert await is_gone(session)
        [run] = await client.runs(execution_id)
        assert [attempt.worker for attempt in run.attempts] == [first]
        await workers.start()
        assert (await client.ended(execution_id, within=90)).success
        record("F29", "sessions of workers that stop", tried=1, survived=1)


async def test_a_hub_crash_costs_one_attempt_and_no_device(
    executor: Any, connect: Any, shelf: Shelf, workers: Workers, tmp_path: Path, two_hubs: list[Hub], noted: Noted
) -> None:
    """The run continues on the other hub; when the crashed one is back, its devices are used again."""
    use(workers, tmp_path, pool("a", two_hubs[0]), pool("b", two_hubs[1]))
    # A worker on a busy machine may renew late, which would be an attempt more.
    workers.environment["MOBILETEST_LEASE_SECONDS"] = "60"
    async with executor(executor_role="api", lease_seconds=60.0) as api, connect(api.grpc_address) as client:
        await workers.start()
        execution_id = await client.start(workflow(shelf))
        session = await noted()
        dead, alive = two_hubs if session.hub == two_hubs[0].url else reversed(two_hubs)
        await dead.child.kill()
        assert (await client.ended(execution_id, within=90)).success
        [run] = await client.runs(execution_id)
        assert [attempt.failure.category in LOST for attempt in run.attempts] == [True, False], run
        assert len({attempt.device for attempt in run.attempts}) == 2
        await check_history(client, execution_id)
        assert (await client.ended(await client.start(workflow(shelf, steps=5)))).success
        dead.child.start()
        await eventually(lambda: _both_used(client, shelf), within=120)
        assert alive.child.running
        record("F29", "runs whose hub was killed", tried=1, survived=1)


async def _both_used(client: Client, shelf: Shelf) -> bool:
    """Whether two concurrent runs get a device each, one per hub."""
    started_ids = [await client.start(workflow(shelf, steps=60)) for _ in range(2)]
    devices = set()
    for execution_id in started_ids:
        assert (await client.ended(execution_id)).success
        devices |= {run.attempts[-1].device for run in await client.runs(execution_id)}
    return devices == {"a-1", "b-1"}


@pytest.mark.parametrize("restarted", [False, True], ids=["its session is open", "its session is gone"])
async def test_the_phone_of_a_killed_worker_is_clean_before_another_organisation_gets_it(
    executor: Any, connect: Any, shelf: Shelf, workers: Workers, tmp_path: Path, noted: Noted, restarted: bool
) -> None:
    """Whoever deletes its session removes its app; if the hub has lost the session, the next session does."""
    async with (
        serving_phone(PhoneHub()) as hub,
        executor(executor_role="api", lease_seconds=LEASE_SECONDS) as api,
        connect(api.grpc_address) as client,
    ):
        (tmp_path / "pools.yaml").write_text(phone_pool(hub))
        workers.environment["MOBILETEST_DEVICE_POOLS"] = str(tmp_path / "pools.yaml")
        worker = await workers.start()
        cancelled = await client.start(_phone_run(shelf, "com.example.shop", 'I see "never"'))
        await noted()
        await eventually(lambda: "activateApp" in hub.commands())
        hub.leave(SECRET)
        if restarted:
            hub.open.clear()
        await client.stub.CancelExecution(pb.CancelExecutionRequest(execution_id=cancelled))
        await workers.end(worker, signal.SIGKILL)
        if not restarted:
            await eventually(lambda: not hub.open, within=BOUND + 10)
            assert not hub.holds(SECRET)
            assert hub.commands()[-4:] == ["removeApp", "clearApp", "setClipboard", "delete"]
        await workers.start()
        with bind(Caller(org_id=str(uuid4()), scopes=ALL_SCOPES)):
            execution_id = await client.start(_phone_run(shelf, "com.example.other", 'I see "Home"'))
            assert (await client.ended(execution_id)).success
        await eventually(lambda: set(hub.apps) == set(OWN))
        removed = [given["appId"] for command, given in hub.asked if command == "removeApp"]
        assert removed == ["com.example.shop", "com.example.other"]
        installed = [index for index, (command, _) in enumerate(hub.asked) if command == "installApp"]
        assert hub.commands().index("removeApp") < installed[1]
        assert not hub.holds(SECRET)
    record("F29", "phones of killed workers", tried=1, survived=1)


def _phone_run(shelf: Shelf, app_id: str, step: str) -> str:
    run = shelf.planned(step, build_id=shelf.build(app_file(app_id, secret="Home")), file_name="app.apk")
    run.build.package_name = app_id
    return shelf.workflow(run)
