"""Runs at hubs over HTTP: how the app gets there, and what becomes of runs when hubs are away."""

from pathlib import Path
from typing import Any

import aiohttp
from mobiletest.types.v1 import execution_pb2

from tests.eventually import eventually
from tests.integration.executor.catalog_server import Shelf
from tests.integration.executor.devices.scripted_hub import ScriptedHub, serving_hub

SEE = 'I see "Go"'
APP = b"an app " * 50_000


def pools(folder: Path, hub: ScriptedHub, *, app: str = "path", slots: int = 1) -> str:
    """A pools file with a pool at the hub."""
    capabilities = "{platformName: Fake, 'appium:automationName': Fake}"
    fields = f"name: a, platform: android, kind: webdriver, url: '{hub.url}', slots: {slots}, app: {app}"
    path = folder / "pools.yaml"
    path.write_text(f"pools: [{{{fields}, capabilities: {capabilities}}}]")
    return str(path)


def app_run(shelf: Shelf) -> str:
    """A workflow with one run on a build with a file."""
    return shelf.workflow(shelf.planned(SEE, build_id=shelf.build(APP), file_name="Shop.apk"))


async def test_a_local_hub_gets_the_path_of_the_file(executor: Any, connect: Any, shelf: Shelf, tmp_path: Path) -> None:
    files = tmp_path / "files"
    async with serving_hub(ScriptedHub()) as hub:
        settings = {"device_pools": pools(tmp_path, hub), "executor_files_folder": str(files)}
        async with executor(**settings) as app, connect(app.grpc_address) as client:
            execution_id = await client.start(app_run(shelf))
            assert (await client.ended(execution_id)).success
            [told] = hub.apps
            assert told is not None
            assert told.endswith(".apk")
            assert [kept.read_bytes() for kept in files.rglob("*.apk")] == [APP]
            assert told in map(str, files.rglob("*.apk"))
            [run] = await client.runs(execution_id)
            assert (run.attempts[0].device, run.attempts[0].simulated) == ("a-1", False)
            await eventually(lambda: not hub.open)


async def test_a_remote_hub_fetches_the_file_while_its_session_is_open(
    executor: Any, connect: Any, shelf: Shelf, tmp_path: Path
) -> None:
    async with serving_hub(ScriptedHub()) as hub:
        settings = {"device_pools": pools(tmp_path, hub, app="url"), "executor_files_listen": "127.0.0.1:0"}
        async with executor(**settings) as app, connect(app.grpc_address) as client:
            assert (await client.ended(await client.start(app_run(shelf)))).success
            assert hub.fetched == [APP]
            await eventually(lambda: _is_404(hub.apps[0]))


async def _is_404(url: str | None) -> bool:
    async with aiohttp.ClientSession() as client, client.get(url or "") as answer:
        return answer.status == 404


async def test_runs_stay_queued_while_their_only_hub_is_down(
    executor: Any, connect: Any, shelf: Shelf, tmp_path: Path
) -> None:
    """The runs are not claimed, so that no attempt is lost, and continue when the hub is back."""
    async with serving_hub(ScriptedHub()) as known:
        port = int(known.url.rpartition(":")[2])
        file = pools(tmp_path, known)
    async with executor(device_pools=file, poll_seconds=0.2) as app, connect(app.grpc_address) as client:
        execution_id = await client.start(app_run(shelf))
        waiting = await client.get(execution_id, wait=1, after_revision=10**6)
        assert waiting.status == execution_pb2.EXECUTION_STATUS_QUEUED
        async with serving_hub(ScriptedHub(), port=port):
            assert (await client.ended(execution_id)).success
            [run] = await client.runs(execution_id)
            assert run.attempt_number == 1


async def test_workers_share_the_slots_of_a_hub(executor: Any, connect: Any, shelf: Shelf, tmp_path: Path) -> None:
    """The hub refuses a session more than it has slots, and it is asked for none."""
    async with serving_hub(ScriptedHub(slots=2)) as hub:
        file = pools(tmp_path, hub, slots=2)
        async with (
            executor(device_pools=file) as app,
            executor(device_pools=file, executor_role="worker"),
            executor(device_pools=file, executor_role="worker"),
            connect(app.grpc_address) as client,
        ):
            execution_id = await client.start(shelf.workflow(*(shelf.planned("Wait 1 second", SEE) for _ in range(4))))
            assert (await client.ended(execution_id)).success
            assert [run.attempt_number for run in await client.runs(execution_id)] == [1] * 4
            assert len(hub.asked) == 4
