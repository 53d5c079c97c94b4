"""The command line while the gateway is killed, and with a server of its own."""

import asyncio
import os
import re
import sys
from contextlib import suppress
from pathlib import Path

from deploy.local.stack import Stack
from mobiletest_cli.errors import FAILED, INVALID_FILE, MEANINGS, TERMINATED
from tests.e2e.cli.conftest import ROOT, Shell
from tests.e2e.cli.test_run import BROKEN, LOG_IN
from tests.e2e.client import Api
from tests.e2e.test_limits import new_organisation
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
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark.encode() in environ.read_bytes().split(b"\0"):
                found.append(environ.parent.name)
    return found


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
    ended = await shell.run("run", "--local", "--file", "app.apk", "--build", "1", "--json")
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
    process = await shell.start("run", "--local", "--file", "app.apk", "--build", "1")
    assert process.stderr is not None
    assert b"Starting a server" in await process.stderr.readline()
    process.terminate()
    await process.communicate()
    assert process.returncode == TERMINATED
    await eventually(lambda: not marked(mark))
