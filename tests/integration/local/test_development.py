"""`make run` for who changes a service: one that is started in an IDE, and services that restart when files change."""

import asyncio
import json
import os
import re
import shutil
import signal
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import pytest

from deploy.local.layout import ROOT
from tests.eventually import eventually

pytestmark = pytest.mark.usefixtures("programs")

DASHBOARD = Path("services/gateway/dashboard")


class Development:
    """A real stack from a copy of the source tree: it reloads, and its executor was started by its printed command."""

    def __init__(self, tree: Path, output: asyncio.StreamReader) -> None:
        self.tree = tree
        self._output = output

    async def line(self, pattern: str) -> str:
        """The next line of its output with the pattern."""
        seen = list[str]()
        async with asyncio.timeout(100):
            while not re.search(pattern, line := (await self._output.readline()).decode().rstrip()):
                assert line or not self._output.at_eof(), "\n".join(seen)
                seen.append(line)
        return line

    def change(self, file: Path, old: str, new: str) -> None:
        """Replace the file at once, as editors do."""
        path, changed = self.tree / file, self.tree / "changed"
        changed.write_text((text := (self.tree / file).read_text()).replace(old, new, 1))
        assert changed.read_text() != text
        changed.replace(path)

    async def get(self, path: str) -> str:
        """The answer of the API or of a page to a GET."""
        ready = json.loads((self.tree / ".local/ready.json").read_text())
        headers = {"Authorization": f"Bearer {ready['api_key']}"}
        async with aiohttp.ClientSession(ready["url"], raise_for_status=True) as session:
            return await (await session.get(path, headers=headers)).text()


@asynccontextmanager
async def program(*argv: str, cwd: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """A running program and its children, without our variables; terminated at the end."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MOBILETEST_")}
    process = await asyncio.create_subprocess_exec(
        *argv, cwd=cwd, env={**environment, "MOBILETEST_PORT": "0"}, stdout=-1, stderr=-2, start_new_session=True
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        async with asyncio.timeout(60):
            await process.communicate()


@asynccontextmanager
async def developing(tree: Path) -> AsyncIterator[Development]:
    for folder in ("services", "automation", "deploy"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("node_modules"))
    (tree / "gen").symlink_to(ROOT / "gen")
    argv = [sys.executable, "-m", "deploy.local", "run", "--no-examples", "--reload", "--without", "executor"]
    async with program(*argv, cwd=tree) as run:
        assert run.stdout is not None
        stack = Development(tree, run.stdout)
        command = await stack.line(r"^ +\(set -a; .*executor")
        async with program("sh", "-c", command, cwd=tree):
            await stack.line("^executor is ready")
            await stack.line("^serving")
            yield stack


async def test_a_stack_waits_for_a_service_of_a_developer_and_restarts_what_changes(tmp_path: Path) -> None:
    """One test, because each start of a real stack costs some 10 s of CPU."""
    async with developing(tmp_path) as stack:
        await check_the_executor_answers(stack)
        await check_pages_are_served_as_their_files_are(stack)
        await check_a_mistake_in_python_can_be_corrected(stack)


async def check_the_executor_answers(stack: Development) -> None:
    assert json.loads(await stack.get("/api/v1/executions"))["items"] == []
    assert stat.S_IMODE((stack.tree / ".local/env/executor.env").stat().st_mode) == 0o600


async def check_pages_are_served_as_their_files_are(stack: Development) -> None:
    stack.change(DASHBOARD / "templates/sign_in.html", "<h1>", "<h1>Changed: ")
    stack.change(DASHBOARD / "static/dashboard.css", "", "/* changed */\n")
    await stack.line("gateway/dashboard/.* changed: restarting gateway$")
    await eventually(lambda: shows(stack, "/sign-in", "<h1>Changed: "))
    await eventually(lambda: shows(stack, "/static/any/dashboard.css", "/* changed */"))


async def shows(stack: Development, path: str, text: str) -> bool:
    """Whether an answer has the text; there is none while services restart and find each other."""
    try:
        return text in await stack.get(path)
    except aiohttp.ClientError:
        return False


async def check_a_mistake_in_python_can_be_corrected(stack: Development) -> None:
    module = Path("services/catalog/app.py")
    stack.change(module, "", "no module\n")
    await stack.line("^services/catalog/app.py changed: restarting catalog$")
    await stack.line("SyntaxError")
    await stack.line("^catalog starts again at the next change$")
    stack.change(module, "no module\n", "")
    await stack.line("^catalog is ready$")
    await eventually(lambda: shows(stack, "/api/v1/apps", '"items"'))
