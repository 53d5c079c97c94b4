"""The gateway as a process: how it starts, what it writes, how it ends."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import orjson
import pytest

from tests.eventually import eventually
from tests.fakes.gateway import TOKEN, FakeBackends, script_api_key
from tests.integration.gateway.conftest import NO_BROKER

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Written:
    """What a process has written, line by line."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    async def collect(self, process: Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            self.lines.append(line.decode())

    def address(self) -> str:
        """Where it listens; empty until it does."""
        events = [orjson.loads(line) for line in self.lines if line.startswith("{")]
        return next((event["address"] for event in events if event["event"] == "http_listening"), "")


def environment(backends: FakeBackends, **more: str) -> dict[str, str]:
    addresses = {f"MOBILETEST_{name.upper()}_ADDRESS": address for name, address in backends.addresses.items()}
    ours = {"SERVICE_TOKEN": TOKEN, "HTTP_LISTEN": "127.0.0.1:0", "KAFKA_BOOTSTRAP": NO_BROKER, "LOG_LEVEL": "debug"}
    ours["OBJECT_STORE"] = "memory:///"
    named = {f"MOBILETEST_{name}": value for name, value in {**ours, **more}.items()}
    return {**os.environ, **addresses, **named, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


@asynccontextmanager
async def process(env: dict[str, str]) -> AsyncIterator[tuple[Process, Written]]:
    started = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "services.gateway", env=env, stdout=PIPE, stderr=STDOUT
    )
    written = Written()
    collecting = asyncio.create_task(written.collect(started))
    try:
        yield started, written
    finally:
        if started.returncode is None:
            started.kill()
        await started.wait()
        await collecting


async def test_the_process_serves_and_exits_with_0_without_logging_a_key(backends: FakeBackends) -> None:
    def fail(request: Any) -> Any:
        raise RuntimeError(f"broken at {request}")

    key, other = script_api_key(backends), script_api_key(backends)
    backends.on("ListApps", fail)
    async with process(environment(backends)) as (gateway, written):
        await eventually(lambda: written.address() or gateway.returncode is not None, within=100)
        url = f"http://{written.address()}"
        async with aiohttp.ClientSession() as session:
            for path in ("/api/v1/apps", f"/api/v1/apps?search={other}", f"/api/v1/{other}", "/healthz"):
                for header in (f"Bearer {key}", f"Basic {key}", key, f"Bearer {key[:-1]}"):
                    async with session.get(url + path, headers={"Authorization": header}) as answer:
                        assert key not in await answer.text()
        gateway.send_signal(signal.SIGTERM)
        assert await gateway.wait() == 0
    text = "".join(written.lines)
    for secret in (key, other, TOKEN):
        assert secret not in text
    assert key[16:48] not in text
