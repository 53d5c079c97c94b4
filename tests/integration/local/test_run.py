"""`run` with stand-ins for the services: what a person at a terminal sees when things begin, break and end."""

import asyncio
import json
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.eventually import eventually
from tests.integration.local.processes import is_alive

pytestmark = pytest.mark.usefixtures("programs")

CHILDREN = {"mongod", "broker", "catalog", "executor", "reporting", "gateway", "worker-1"}


class Run:
    """A `run` in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process, state_dir: Path) -> None:
        self.process = process
        self.ready_file = state_dir / "ready.json"
        self.pids: dict[str, int] = {}

    async def serving(self) -> "Run":
        """Wait until it serves, and learn the pids of its children from what it prints."""
        assert self.process.stdout is not None
        async with asyncio.timeout(60):
            while "serving" not in (line := (await self.process.stdout.readline()).decode()):
                assert line, "it ended before it served"
                name, word, value = (*line.split(), "", "", "")[:3]
                if word == "pid":
                    self.pids[name] = int(value)
        return self

    async def ended(self) -> tuple[int, str]:
        """Its exit code and the rest of what it printed."""
        async with asyncio.timeout(60):
            output, _ = await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode, output.decode()

    async def children_are_gone(self) -> None:
        await eventually(lambda: not any(is_alive(pid) for pid in self.pids.values()))


@asynccontextmanager
async def started(state_dir: Path) -> AsyncIterator[Run]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MOBILETEST_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.fakes.local",
        env={**environment, "MOBILETEST_STATE_DIR": str(state_dir), "MOBILETEST_PORT": "0"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield Run(process, state_dir)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_stops_everything_and_removes_the_ready_file(tmp_path: Path, number: signal.Signals) -> None:
    async with started(tmp_path) as run:
        await run.serving()
        assert set(run.pids) == CHILDREN
        assert run.ready_file.exists()
        run.process.send_signal(number)
        code, _ = await run.ended()
        assert code == 0
        assert not any(is_alive(pid) for pid in run.pids.values())
        assert not run.ready_file.exists()


async def test_the_ready_file_has_the_addresses_and_is_private(tmp_path: Path) -> None:
    async with started(tmp_path) as run:
        await run.serving()
        document = json.loads(run.ready_file.read_text())
        assert document["url"].startswith("http://127.0.0.1:")
        assert document["api_key"].startswith("mt_")
        assert set(document["grpc"]) == {"catalog", "executor", "reporting"}
        assert stat.S_IMODE(run.ready_file.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["catalog", "worker-1", "broker", "mongod"])
async def test_a_dying_child_stops_the_stack_and_shows_its_last_log_lines(tmp_path: Path, name: str) -> None:
    async with started(tmp_path) as run:
        await run.serving()
        os.kill(run.pids[name], signal.SIGKILL)
        code, output = await run.ended()
        assert code == 1
        assert f"{name} ended with signal SIGKILL" in output
        assert "    " in output
        assert not any(is_alive(pid) for pid in run.pids.values())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
async def test_a_killed_supervisor_leaves_no_process_and_the_folder_can_be_used_again(tmp_path: Path) -> None:
    async with started(tmp_path) as run:
        await run.serving()
        run.process.kill()
        await run.children_are_gone()
    async with started(tmp_path) as again:
        await again.serving()


async def test_a_second_run_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    async with started(tmp_path) as run:
        await run.serving()
        async with started(tmp_path) as second:
            code, output = await second.ended()
        assert code == 1
        assert f"already running on {tmp_path} (pid {run.process.pid}, http://127.0.0.1:" in output
        assert all(is_alive(pid) for pid in run.pids.values())
