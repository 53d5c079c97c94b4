"""The command `run` with stand-ins for the services: start, restarts of children, and shutdown."""

import asyncio
import json
import os
import signal
import stat
import subprocess
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
    """A `run` in a child process."""

    def __init__(self, process: asyncio.subprocess.Process, state_dir: Path) -> None:
        self.process = process
        self.ready_file = state_dir / "ready.json"
        self.pids: dict[str, int] = {}

    async def serving(self) -> "Run":
        """Wait until it serves, and read the pids of its children from its output."""
        assert self.process.stdout is not None
        async with asyncio.timeout(60):
            while "serving" not in (line := (await self.process.stdout.readline()).decode()):
                assert line, "it ended before it served"
                name, word, value = (*line.split(), "", "", "")[:3]
                if word == "pid":
                    self.pids[name] = int(value)
        return self

    async def line(self) -> str:
        """The next line of its output."""
        assert self.process.stdout is not None
        async with asyncio.timeout(60):
            return (await self.process.stdout.readline()).decode().rstrip()

    async def ended(self) -> tuple[int, str]:
        """Its exit code and the rest of its output."""
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


async def test_a_run_serves_refuses_a_second_one_and_stops_on_sigterm(tmp_path: Path) -> None:
    async with started(tmp_path) as run:
        await run.serving()
        assert set(run.pids) == CHILDREN
        check_ready_file(run.ready_file)
        async with started(tmp_path) as second:
            code, output = await second.ended()
        assert code == 1
        assert f"already running on {tmp_path} (pid {run.process.pid}, http://127.0.0.1:" in output
        assert all(is_alive(pid) for pid in run.pids.values())
        await check_stopped_by(run, signal.SIGTERM)


def check_ready_file(path: Path) -> None:
    """It has the addresses, and only its owner can read it."""
    document = json.loads(path.read_text())
    assert document["url"].startswith("http://127.0.0.1:")
    assert document["api_key"].startswith("mt_")
    assert set(document["grpc"]) == {"catalog", "executor", "reporting"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def check_stopped_by(run: Run, number: signal.Signals) -> None:
    """The signal stops everything and deletes the ready file."""
    run.process.send_signal(number)
    code, _ = await run.ended()
    assert code == 0
    assert not any(is_alive(pid) for pid in run.pids.values())
    assert not run.ready_file.exists()


@pytest.mark.parametrize("name", ["catalog", "mongod", "broker"])
async def test_a_dead_child_is_started_again(tmp_path: Path, name: str) -> None:
    """It says so in one line; a broker is given its events again; all of it stops as before."""
    async with started(tmp_path) as run:
        await run.serving()
        os.kill(dead := run.pids[name], signal.SIGKILL)
        assert await run.line() == f"{name} ended with signal SIGKILL: starting {name} again in 0.5 s"
        await eventually(lambda: child_of(run, name) not in (None, dead))
        run.pids[name] = child_of(run, name) or 0
        if name == "broker":
            await eventually(lambda: republished(tmp_path) == ["catalog", "executor"])
        check_ready_file(run.ready_file)
        await check_stopped_by(run, signal.SIGTERM)


async def test_a_run_can_be_stopped_while_it_starts_a_child_again(tmp_path: Path) -> None:
    async with started(tmp_path) as run:
        await run.serving()
        os.kill(run.pids["reporting"], signal.SIGKILL)
        assert "starting reporting again" in await run.line()
        await check_stopped_by(run, signal.SIGINT)
        assert child_of(run, "reporting") is None


def child_of(run: Run, name: str) -> int | None:
    """The pid of its child that runs this program, if there is one."""
    module = {"mongod": "mongod", "broker": "tansu"}.get(name, f"tests.fakes.local.{name}")
    listed = subprocess.run(["ps", "-eww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=2) for line in listed.splitlines()]
    found = [int(row[0]) for row in rows if int(row[1]) == run.process.pid and module in row[2]]
    return found[0] if found else None


def republished(state_dir: Path) -> list[str]:
    """The services whose events were published again."""
    file = state_dir / "republished"
    return sorted(file.read_text().split()) if file.exists() else []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
async def test_after_a_killed_supervisor_the_folder_can_be_used_again_until_sigint(tmp_path: Path) -> None:
    async with started(tmp_path) as run:
        await run.serving()
        run.process.kill()
        await run.children_are_gone()
    async with started(tmp_path) as again:
        await again.serving()
        await check_stopped_by(again, signal.SIGINT)
