"""F04: a driver that hangs in the middle of a session. The run ends in time and says why, and the slot is free again.

Attempts run inside the worker, not in a child of it: no runner process can die alone. A failure that takes
the worker with it is a killed worker (F01); an out-of-memory kill shows as executor_lost, not as a separate reason.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from aiohttp import web
from mobiletest.types.v1 import execution_pb2, run_config_pb2

from tests.fault.counting import record
from tests.fault.executor.conftest import Workers
from tests.fault.executor.test_workers import check_history
from tests.integration.executor.catalog_server import Shelf

# Of a worker that lives on, however loaded the machine is: what ends the run is its limit.
LEASE_SECONDS = 60.0
SCREEN = '<app><button id="go" x="1" y="1" width="10" height="10" visible="true">Go</button></app>'


@dataclass
class HangingHub:
    """A hub that opens and deletes sessions; all other commands hang while `hangs` is set."""

    url: str = ""
    hangs: bool = True
    sessions: set[str] = field(default_factory=set)
    opened: int = 0
    waiting: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, request: web.Request) -> web.Response:
        path = request.path.strip("/").split("/")
        if path == ["status"]:
            return _value({"ready": True})
        if path == ["session"]:
            self.opened += 1
            self.sessions.add(f"session-{self.opened}")
            capabilities = {"platformName": "Android", "appium:automationName": "Fake", "automationName": "Fake"}
            return _value({"sessionId": f"session-{self.opened}", "capabilities": capabilities})
        if request.method == "DELETE" and len(path) == 2:
            self.sessions.discard(path[1])
            return _value(None)
        if self.hangs:
            await self.waiting.wait()
        return _value(SCREEN if path[-1] == "source" else None)


def _value(value: Any) -> web.Response:
    return web.json_response({"value": value})


@asynccontextmanager
async def serving(hub: HangingHub) -> AsyncIterator[HangingHub]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", hub.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    hub.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield hub
    finally:
        hub.waiting.set()
        await runner.cleanup()


def pools_file(folder: Path, hub: HangingHub) -> str:
    path = folder / "pools.yaml"
    path.write_text(f"pools:\n  - {{name: hub, platform: android, kind: webdriver, url: '{hub.url}', slots: 1}}\n")
    return str(path)


@pytest.mark.parametrize(
    ("limits", "within", "categories"),
    [
        ({"RUN_TIMEOUT_SECONDS": "4"}, 25, {execution_pb2.FAILURE_CATEGORY_RUN_TIMEOUT}),
        (
            {"STEP_TIMEOUT_SECONDS": "1"},
            75,
            {
                execution_pb2.FAILURE_CATEGORY_STEP_TIMEOUT,
                execution_pb2.FAILURE_CATEGORY_APP_NOT_RESPONDING,
                execution_pb2.FAILURE_CATEGORY_SESSION_LOST,
                execution_pb2.FAILURE_CATEGORY_NETWORK_ERROR,
            },
        ),
    ],
    ids=["run-limit", "step-limit"],
)
async def test_a_hung_driver_ends_its_run_in_time_and_frees_the_slot(
    executor: Any,
    connect: Any,
    shelf: Shelf,
    workers: Workers,
    tmp_path: Path,
    limits: dict[str, str],
    within: float,
    categories: set[int],
) -> None:
    workflow_id = shelf.workflow(shelf.planned('Tap "Go"'))
    async with serving(HangingHub()) as hub:
        said = {
            **limits,
            "INFRASTRUCTURE_RETRIES": "0",
            "DEVICE_POOLS": pools_file(tmp_path, hub),
            "LEASE_SECONDS": str(LEASE_SECONDS),
        }
        workers.environment.update({f"MOBILETEST_{name}": value for name, value in said.items()})
        seconds = {"run_timeout_seconds": 4.0} if "RUN_TIMEOUT_SECONDS" in limits else {}
        api = executor(executor_role="api", lease_seconds=LEASE_SECONDS, infrastructure_retries=0, **seconds)
        async with api as served, connect(served.grpc_address) as client:
            await workers.start_ready()
            began = monotonic()
            execution_id = await client.start(workflow_id, run_config=_no_retries())
            await client.ended(execution_id, within=within)
            took = monotonic() - began
            [run] = await client.runs(execution_id)
            assert run.failure.category in categories, run
            await check_history(client, execution_id)
            assert not hub.sessions
            hub.hangs = False
            hub.waiting.set()
            again = await client.start(workflow_id, run_config=_no_retries())
            assert (await client.ended(again)).status == execution_pb2.EXECUTION_STATUS_COMPLETED
        record("F04", f"runs whose driver hangs ({', '.join(limits)})", tried=1, survived=1, seconds=round(took, 1))


def _no_retries() -> Any:
    return run_config_pb2.RunConfig(execution_mode=run_config_pb2.ExecutionMode(retries=0))
