"""The command `run` with stand-ins for the services: start, restarts of children, and shutdown."""

import asyncio
import json
import os
import shlex
import signal
import socket
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pymongo import AsyncMongoClient

from deploy.local.child import ChildDied
from deploy.local.commands import CommandFailed
from deploy.local.stack import run_stack
from tests.eventually import eventually
from tests.integration.local.processes import alive, children_of

CHILDREN = {"mongod", "broker", "catalog", "executor", "reporting", "gateway", "worker-1"}
PROGRAMS = {"mongod": "mongod", "broker": "tansu", "catalog": "tests.fakes.local.catalog"}


class Run:
    """A `run` in a child process."""

    def __init__(self, process: asyncio.subprocess.Process, state_dir: Path) -> None:
        self.process = process
        self.state_dir = state_dir
        self.ready_file = state_dir / "ready.json"
        self.pids: dict[str, int] = {}
        self.said: list[str] = []

    async def serving(self) -> dict[str, Any]:
        """Wait until it serves, and read the pids of its children from its output; what is in its ready file."""
        while "serving" not in (line := await self.line()):
            assert line, "it ended before it served"
            self.said.append(line)
            name, word, value = (*line.split(), "", "", "")[:3]
            if word == "pid":
                self.pids[name] = int(value)
        document: dict[str, Any] = json.loads(self.ready_file.read_text())
        return document

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

    async def stops_on(self, number: signal.Signals) -> None:
        self.process.send_signal(number)
        code, output = await self.ended()
        assert (code, output.splitlines()[-1]) == (0, "stopped")
        assert not self.ready_file.exists()

    def apps(self) -> AsyncMongoClient[dict[str, object]]:
        """A client of its database, whose address is in the environment of the services."""
        words = shlex.split((self.state_dir / "env" / "catalog.env").read_text())
        environment = dict(word.split("=", 1) for word in words if "=" in word)
        return AsyncMongoClient(environment["MOBILETEST_MONGO_URI"])

    def republished(self) -> list[str]:
        """The services whose events were published again, each as often as it was done."""
        file = self.state_dir / "republished"
        return sorted(file.read_text().split()) if file.exists() else []


@asynccontextmanager
async def started(state_dir: Path, **environ: str) -> AsyncIterator[Run]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MOBILETEST_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.fakes.local",
        env={**inherited, "MOBILETEST_STATE_DIR": str(state_dir), "MOBILETEST_PORT": "0", **environ},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield Run(process, state_dir)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.usefixtures("programs")
async def test_a_run_keeps_its_children_alive_and_its_state_over_a_second_run(tmp_path: Path) -> None:
    async with started(tmp_path) as run:
        document = await run.serving()
        check_ready_file(run.ready_file, document)
        assert f"dashboard and API  {document['url']}" in run.said
        assert f"API key            in {run.ready_file} (api_key): sign in to the dashboard with it" in run.said
        assert run.republished() == []
        async with run.apps() as client:
            await client.catalog.apps.insert_one({"_id": "a"})
        await refuses_a_second(run)
        await restarts_dead_children(run)
        await ends_with_its_children(run)
    async with started(tmp_path) as run:
        again = await run.serving()
        assert (again["api_key"], again["grpc_token"]) == (document["api_key"], document["grpc_token"])
        assert run.republished() == ["catalog"] * 4 + ["executor"] * 4
        async with run.apps() as client:
            assert await client.catalog.apps.find_one() == {"_id": "a"}
        os.kill(run.pids["reporting"], signal.SIGKILL)
        assert "starting reporting again" in await run.line()
        await run.stops_on(signal.SIGINT)
        assert alive(*run.pids.values()) == set()


def check_ready_file(path: Path, document: dict[str, Any]) -> None:
    """It has the addresses, and only its owner can read it."""
    assert document["url"].startswith("http://127.0.0.1:")
    assert document["api_key"].startswith("mt_")
    assert set(document["grpc"]) == {"catalog", "executor", "reporting"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    # What a killed worker leaves is in the state folder, where the next one finds it.
    assert f"FILES_FOLDER={path.parent}/files\n" in (path.parent / "env" / "worker-1.env").read_text()


async def refuses_a_second(run: Run) -> None:
    async with started(run.state_dir) as second:
        code, output = await second.ended()
    assert code == 1
    assert f"already running on {run.state_dir} (pid {run.process.pid}, http://127.0.0.1:" in output


async def restarts_dead_children(run: Run) -> None:
    """It says so in one line; a broker is given its events again."""
    assert set(run.pids) == CHILDREN
    assert alive(*run.pids.values()) == set(run.pids.values())
    dead = {name: run.pids[name] for name in PROGRAMS}
    for pid in dead.values():
        os.kill(pid, signal.SIGKILL)
    lines = {await run.line() for _ in dead}
    assert lines == {f"{name} ended with signal SIGKILL: starting {name} again in 0.5 s" for name in dead}

    def restarted() -> bool:
        children = children_of(run.process.pid)
        run.pids |= {name: children.get(program, 0) for name, program in PROGRAMS.items()}
        return all(run.pids[name] not in (0, pid) for name, pid in dead.items())

    await eventually(restarted, every=0.1)
    await eventually(lambda: run.republished() == ["catalog"] * 2 + ["executor"] * 2)


async def ends_with_its_children(run: Run) -> None:
    if sys.platform != "linux":  # only Linux ends a child with its parent
        await run.stops_on(signal.SIGTERM)
        return
    run.process.kill()
    await run.process.wait()
    await eventually(lambda: not alive(*run.pids.values()), every=0.1)


async def test_a_port_that_was_set_is_not_replaced(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        async with started(tmp_path, MOBILETEST_PORT=str(port)) as run:
            code, output = await run.ended()
    assert code == 1
    [_, problem] = output.splitlines()
    assert problem.startswith(f"mobiletest failed: port {port} is in use by ")
    assert problem.endswith("choose another port by MOBILETEST_PORT (0: any free one)")


async def test_a_state_folder_that_cannot_be_used_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    async with started(file) as run:
        code, output = await run.ended()
    assert code == 1
    [_, problem] = output.splitlines()
    assert problem.startswith(f"mobiletest failed: {file} is a file, not a folder: remove it, or choose another")


async def test_a_run_can_be_stopped_while_it_starts(tmp_path: Path) -> None:
    given = {"MOBILETEST_MONGO_URI": "mongodb://127.0.0.1:9", "MOBILETEST_KAFKA_BOOTSTRAP": "127.0.0.1:9"}
    async with started(tmp_path, **given) as run:
        assert "starting mobiletest" in await run.line()
        await run.stops_on(signal.SIGTERM)


@pytest.mark.usefixtures("programs")
async def test_a_service_that_does_not_start_leaves_no_process(tmp_path: Path, mongo_uri: str) -> None:
    before = children_of(os.getpid())
    with pytest.raises((ChildDied, CommandFailed), match="No module named"):
        async with run_stack(tmp_path, mongo_uri=mongo_uri, package="tests.fakes.nowhere"):
            pass
    assert children_of(os.getpid()).keys() - before.keys() <= {"ps"}
    assert not (tmp_path / "ready.json").exists()
