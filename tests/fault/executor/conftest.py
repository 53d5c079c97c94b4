"""Workers as processes that can be killed, with the API in the process of the test."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from services.executor.settings import Settings
from tests.eventually import eventually
from tests.integration.executor.catalog_server import TOKEN
from tests.integration.executor.conftest import caller, connect, executor, settings, shelf

__all__ = ["caller", "connect", "executor", "settings", "shelf"]

LEASE_SECONDS = 2.0
ROOT = Path(__file__).parents[3]


@dataclass
class Workers:
    """Worker processes by name, each with its own log file."""

    environment: dict[str, str]
    logs: Path
    running: dict[str, asyncio.subprocess.Process] = field(default_factory=dict)

    async def start(self) -> str:
        """The name of a new worker, which is starting."""
        name = f"worker-{uuid4().hex[:8]}"
        with (self.logs / f"{name}.log").open("wb") as log:
            self.running[name] = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "services.executor",
                cwd=ROOT,
                env={**self.environment, "MOBILETEST_INSTANCE": name},
                stdout=log,
                stderr=log,
            )
        return name

    async def start_ready(self, number: int = 1) -> list[str]:
        """The names of so many new workers, which have started: how long that takes is the machine's affair."""
        names = [await self.start() for _ in range(number)]
        await self.ready(*names)
        return names

    async def ready(self, *names: str) -> None:
        await eventually(lambda: all("started" in self.log(name) for name in names), within=120)

    async def end(self, name: str, number: signal.Signals) -> int:
        """Send the signal and wait for the end; the exit code. A worker that has ended by itself is an error."""
        process = self.running.pop(name)
        assert process.returncode is None, f"{name} ended with {process.returncode}:\n{self.log(name)[-4000:]}"
        process.send_signal(number)
        return await process.wait()

    async def end_all(self) -> None:
        """Kill what still runs, then complain about what did not."""
        dead = [name for name, process in self.running.items() if process.returncode is not None]
        for name in self.running.keys() - set(dead):
            self.running[name].kill()
            await self.running[name].wait()
        assert not dead, "\n".join(f"{name} ended by itself:\n{self.log(name)[-4000:]}" for name in dead)

    def signal(self, name: str, number: signal.Signals) -> None:
        self.running[name].send_signal(number)

    def log(self, name: str) -> str:
        return (self.logs / f"{name}.log").read_text()


@asynccontextmanager
async def workers_of(environment: dict[str, str], logs: Path) -> AsyncIterator[Workers]:
    workers = Workers(environment, logs)
    try:
        yield workers
    finally:
        await workers.end_all()


@pytest.fixture
async def workers(settings: Callable[..., Settings], tmp_path: Path) -> AsyncIterator[Workers]:
    """Workers that share database, broker and catalog with the API of the test."""
    async with workers_of(_environment(settings(lease_seconds=LEASE_SECONDS)), tmp_path) as running:
        yield running


def _environment(settings: Settings) -> dict[str, str]:
    """The settings as environment variables of a process."""
    chosen: dict[str, Any] = {
        name: getattr(settings, name) for name in settings.model_fields_set - {"service_token", "instance"}
    }
    variables = {f"MOBILETEST_{name.upper()}": str(value) for name, value in chosen.items()}
    return {
        **os.environ,
        **variables,
        "MOBILETEST_SERVICE_TOKEN": TOKEN,
        "MOBILETEST_EXECUTOR_ROLE": "worker",
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "gen", ROOT / "tests" / "plugins"))),
    }
