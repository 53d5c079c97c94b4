"""The command line while the gateway is killed, and with a server of its own."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from pathlib import Path

import aiohttp

from deploy.local.stack import Stack
from mobiletest_cli.errors import FAILED, INVALID_FILE, MEANINGS, TERMINATED
from tests.e2e.cli.conftest import BROKEN, LOG_IN, ROOT, Shell
from tests.e2e.client import Api, created
from tests.e2e.test_limits import new_organisation
from tests.e2e.world import World
from tests.eventually import eventually
from tests.fault.conftest import on_the_stack


@on_the_stack
async def test_a_job_of_ci_gets_every_exit_code(own_stack: Stack, own_api: Api, tmp_path: Path) -> None:
    """As its shell script sees them; a gateway that dies is started again, as Kubernetes does."""
    shell = Shell(tmp_path / "job", await job_environment(own_stack, own_api, tmp_path))
    shell.folder.mkdir()
    process = await shell.execute(str(ROOT / "tests/fault/ci_job.sh"))
    ended = asyncio.create_task(process.communicate())
    while not ended.done() and own_stack.parts["gateway"].child.running:
        await asyncio.wait({ended}, timeout=0.2)
    if not ended.done():
        await own_stack.start("gateway")
    out, err = await ended
    assert process.returncode == 0, out.decode() + err.decode()
    assert {int(code) for code in re.findall(r"^ok \d+ - (\d+): ", out.decode(), re.MULTILINE)} == set(MEANINGS)


@on_the_stack
async def test_a_full_disk_is_said_after_the_verdict(own_api: Api, tmp_path: Path) -> None:
    """Nothing of the file is left on the full file system, and the other report is written."""
    shell = Shell(tmp_path, {"MOBILETEST_URL": own_api.url, "MOBILETEST_API_KEY": str(own_api.key)})
    shell.write({".maestro/a.yaml": LOG_IN, "app.apk": "app", "full/mount.point": ""})
    run = f"{sys.executable} -m mobiletest_cli run --file app.apk --build 1 --junit full/junit.xml --report report.md"
    fill = "mount -t tmpfs -o size=16k tmpfs full && ! head -c 32k /dev/zero > full/filler 2>/dev/null"
    process = await shell.execute("unshare", "--mount", "sh", "-c", f"{fill} && {run}; code=$?; ls -A full; exit $code")
    out, err = await process.communicate()
    assert process.returncode == INVALID_FILE, err.decode()
    assert "error: full/junit.xml: cannot be written: No space left on device" in err.decode()
    assert "1 passed of 1 run" in out.decode()
    assert out.decode().splitlines()[-1] == "filler"
    assert "1 passed" in (tmp_path / "report.md").read_text()


def marked(mark: str) -> list[str]:
    """The processes with this variable in their environment."""
    processes = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark.encode() in environ.read_bytes().split(b"\0"):
                processes.append(environ.parent.name)
    return processes


async def job_environment(stack: Stack, api: Api, folder: Path) -> dict[str, str]:
    """The variables that the script needs, and a folder with its programs on the PATH."""
    programs = folder / "programs"
    programs.mkdir()
    (programs / "mobiletest").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mobiletest_cli "$@"\n')
    (programs / "mobiletest").chmod(0o755)
    return {
        "MOBILETEST_URL": stack.url,
        "MOBILETEST_API_KEY": str(api.key),
        "LIMITED_API_KEY": await new_organisation(stack, queued_runs=1),
        "GATEWAY_PID": str(stack.pid_of("gateway")),
        "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
    }


async def test_a_local_server_serves_one_command(tmp_path: Path) -> None:
    """Nothing else is needed, its exit code is that of the run, and nothing is left running."""
    shell = Shell(tmp_path, {"MOBILETEST_CHECKOUT": str(ROOT), "MOBILETEST_MARK": str(tmp_path)})
    shell.write({".maestro/a.yaml": LOG_IN, ".maestro/b.yaml": BROKEN, "app.apk": "app"})
    ended = await shell.run("run", "--local-server", "--file", "app.apk", "--build", "1", "--json")
    assert ended.code == FAILED, ended.err
    assert {run["test_name"]: run["success"] for run in ended.document["runs"]} == {
        "Log in": True,
        "Open the basket": False,
    }
    await eventually(lambda: not marked(f"MOBILETEST_MARK={tmp_path}"))


async def test_a_local_server_ends_with_a_command_that_is_stopped_while_it_starts(tmp_path: Path) -> None:
    mark = f"MOBILETEST_MARK={tmp_path}"
    shell = Shell(tmp_path, {"MOBILETEST_CHECKOUT": str(ROOT), "MOBILETEST_MARK": str(tmp_path)})
    shell.write({".maestro/a.yaml": LOG_IN, "app.apk": "app"})
    process = await shell.start("run", "--local-server", "--file", "app.apk", "--build", "1")
    assert process.stderr is not None
    assert b"Starting a server" in await process.stderr.readline()
    process.terminate()
    await process.communicate()
    assert process.returncode == TERMINATED
    await eventually(lambda: not marked(mark))


class CuttingProxy:
    """Forwards to the gateway, and cuts each of the first connections after so many bytes from the client."""

    def __init__(self, target: str, *, cuts: int, after: int) -> None:
        self._host, _, self._port = target.removeprefix("http://").partition(":")
        self._after = after
        self.cuts = cuts

    async def may_pass(self, copied: int, size: int) -> bool:
        """Whether `size` more bytes go on, with which the connection has had `copied`; False cuts it."""
        return not (self.cuts and copied > self._after)

    async def forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream_reader, upstream = await asyncio.open_connection(self._host, int(self._port))
        tasks = [
            asyncio.create_task(_copy(reader, upstream, self.may_pass)),
            asyncio.create_task(_copy(upstream_reader, writer)),
        ]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[0].done() and not tasks[0].exception() and tasks[0].result():
            self.cuts -= 1
        for task in tasks:
            task.cancel()
        for each in (writer, upstream):
            each.transport.abort()


class HoldingProxy(CuttingProxy):
    """Holds what clients send after so many bytes of all connections together, until it is released."""

    def __init__(self, target: str, *, after: int) -> None:
        super().__init__(target, cuts=0, after=after)
        self.released = asyncio.Event()
        self._total = 0

    async def may_pass(self, copied: int, size: int) -> bool:
        self._total += size
        if self._total > self._after:
            await self.released.wait()
        return True


async def _always(copied: int, size: int) -> bool:
    return True


async def _copy(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    may_pass: Callable[[int, int], Awaitable[bool]] = _always,
) -> bool:
    """Whether it ended because bytes may not pass."""
    copied = 0
    while chunk := await reader.read(1 << 16):
        copied += len(chunk)
        if not await may_pass(copied, len(chunk)):
            return True
        writer.write(chunk)
        await writer.drain()
    return False


LARGE_BYTES = 50 * 1024 * 1024
# Two parts of the file and a half.
SOME_BYTES = 20 * 1024 * 1024


@asynccontextmanager
async def large_project(proxy: CuttingProxy, api: Api, folder: Path) -> AsyncIterator[tuple[Shell, str]]:
    """A folder with an app file of 50 MiB, whose commands reach the server through the proxy, and its app."""
    app = await World(api).app()
    (folder / "app.apk").write_bytes(os.urandom(LARGE_BYTES))
    async with await asyncio.start_server(proxy.forward, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield Shell(folder, {"MOBILETEST_URL": url, "MOBILETEST_API_KEY": str(api.key)}), app["id"]


async def is_stored(api: Api, app: str, folder: Path) -> None:
    """The app has one build, whose file is the one in the folder."""
    [build] = created(await api.get(f"/apps/{app}/builds"))["items"]
    stored = await api.download(build["download_url"])
    assert sha256(stored).digest() == sha256((folder / "app.apk").read_bytes()).digest()


@on_the_stack
async def test_an_upload_survives_connections_that_are_cut(own_stack: Stack, own_api: Api, tmp_path: Path) -> None:
    proxy = CuttingProxy(own_stack.url, cuts=6, after=5 * 1024 * 1024)
    async with large_project(proxy, own_api, tmp_path) as (shell, app):
        process = await shell.start("builds", "upload", "app.apk", "--app", app, "--build", "1", "--patience", "60")
        _, err = await process.communicate()
    assert (process.returncode, proxy.cuts) == (0, 0), err.decode()
    assert "Uploaded app.apk" in err.decode()
    await is_stored(own_api, app, tmp_path)


@on_the_stack
async def test_an_upload_survives_gateway_and_catalog_that_are_killed(
    own_stack: Stack, own_api: Api, tmp_path: Path
) -> None:
    proxy = HoldingProxy(own_stack.url, after=SOME_BYTES)
    async with large_project(proxy, own_api, tmp_path) as (shell, app):
        process = await shell.start("builds", "upload", "app.apk", "--app", app, "--build", "1", "--patience", "120")
        ended = asyncio.create_task(process.communicate())
        for part in ("catalog", "gateway"):
            await eventually(lambda: has_parts(own_api, tmp_path, app), every=0.05)
            assert not ended.done()
            await own_stack.kill(part)
            await own_stack.start(part)
        proxy.released.set()
        _, err = await ended
    assert process.returncode == 0, err.decode()
    await is_stored(own_api, app, tmp_path)


@on_the_stack
async def test_an_interrupted_upload_resumes_when_the_command_is_repeated(
    own_stack: Stack, own_api: Api, tmp_path: Path
) -> None:
    proxy = HoldingProxy(own_stack.url, after=SOME_BYTES)
    async with large_project(proxy, own_api, tmp_path) as (shell, app):
        command = ("builds", "upload", "app.apk", "--app", app, "--build", "1")
        process = await shell.start(*command)
        await eventually(lambda: has_parts(own_api, tmp_path, app), every=0.05)
        process.send_signal(signal.SIGINT)
        await process.communicate()
        assert process.returncode != 0
        proxy.released.set()
        again = await shell.start(*command)
        _, err = await again.communicate()
    assert again.returncode == 0, err.decode()
    assert re.search(r"Resuming the upload of app\.apk: the server has [1-9] of 7 parts\.", err.decode())
    await is_stored(own_api, app, tmp_path)


async def has_parts(api: Api, folder: Path, app: str) -> bool:
    """Whether parts of the file, and not all of them, have arrived; starting an upload again shows that."""
    body = {"sha256": sha256((folder / "app.apk").read_bytes()).hexdigest(), "size_bytes": LARGE_BYTES}
    try:
        answer = await api.post(f"/apps/{app}/uploads", body)
    except aiohttp.ClientError:
        return False
    return answer.status == 200 and 0 < len(answer.body["missing_parts"]) < answer.body["part_count"]
