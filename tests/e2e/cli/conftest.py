"""Runs the command in a folder of its own, with the key of a fresh organisation."""

import asyncio
import io
import json
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from mobiletest_cli.app import run_command
from mobiletest_cli.errors import OK
from tests.e2e.client import Api, fresh
from tests.e2e.conftest import fresh_key
from tests.e2e.world import World
from tests.shared_infrastructure import SharedStack

LOG_IN = """appId: com.example.shop
name: Log in
tags: [smoke]
---
- launchApp
- assertVisible: Log in
"""
BROKEN = """appId: com.example.shop
name: Open the basket
---
- launchApp
- extendedWaitUntil: {visible: Nothing of this name, timeout: 50}
"""

ROOT = Path(__file__).parents[3]
OURS = ("MOBILETEST_", "CI", "BUILD_", "GITHUB_", "GITLAB_", "NO_COLOR", "COLUMNS")
# What programs get of the environment: nothing that the command would use.
INHERITED = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
# Held by the one command that may change what belongs to the process.
_process = threading.Lock()


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document of --json."""
        return json.loads(self.out)


@dataclass
class Shell:
    """Where commands run: the folder and the environment."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """The whole environment of a command."""
        return {**INHERITED, "PYTHONPATH": str(ROOT / "cli"), "COLUMNS": "200", **self.environ}

    async def run(self, *arguments: str, stdin: str = "") -> Ended:
        """A command that ended. It runs in this process; for signals, terminals and pipes, start one."""
        return await asyncio.to_thread(self._call, arguments, stdin)

    async def ok(self, *arguments: str, stdin: str = "") -> Ended:
        """A command that succeeded."""
        ended = await self.run(*arguments, stdin=stdin)
        assert ended.code == OK, (arguments, ended.out, ended.err)
        return ended

    async def document(self, *arguments: str) -> Any:
        """The JSON of a command that succeeded, which prints nothing else."""
        ended = await self.ok(*arguments, "--json")
        assert ended.err == ""
        return ended.document

    def _call(self, arguments: Sequence[str], stdin: str) -> Ended:
        out, err = io.BytesIO(), io.BytesIO()
        streams = {"stdin": _text(io.BytesIO(stdin.encode())), "stdout": _text(out), "stderr": _text(err)}
        with (
            _process,
            chdir(self.folder),
            patch.dict(os.environ, self.environment, clear=True),
            patch.multiple(sys, **streams),
        ):
            code = run_command(arguments)
        return Ended(code, out.getvalue().decode(), err.getvalue().decode())

    def program(self, *arguments: str) -> Sequence[str]:
        """The command with arguments, as a process."""
        return [sys.executable, "-m", "mobiletest_cli", *arguments]

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        """A command that runs as a process."""
        return await self.execute(*self.program(*arguments))

    async def execute(self, *program: str, stdin: int = asyncio.subprocess.PIPE) -> asyncio.subprocess.Process:
        """A program that runs in the folder and the environment."""
        return await asyncio.create_subprocess_exec(
            *program,
            cwd=self.folder,
            env=self.environment,
            stdin=stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    def write(self, files: dict[str, str]) -> None:
        """Write files below the folder."""
        for path, text in files.items():
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)


def _text(stream: io.BytesIO) -> io.TextIOWrapper:
    return io.TextIOWrapper(stream, "utf-8", write_through=True)


def new_shell(folder: Path, url: str, key: str) -> Shell:
    """A shell in a new project below the folder."""
    (folder / "project").mkdir()
    names = ("MOBILETEST_URL", "MOBILETEST_API_KEY", "MOBILETEST_CONFIG_DIR")
    return Shell(folder / "project", dict(zip(names, (url, key, str(folder / "config")), strict=True)))


@pytest.fixture
def shell(stack: SharedStack, api: Api, tmp_path: Path) -> Shell:
    """A shell of a user with a key that may do everything."""
    return new_shell(tmp_path, stack.url, str(api.key))


@pytest.fixture
def stranger(tmp_path: Path) -> Shell:
    """A shell whose server is another one than ours, or none."""
    return new_shell(tmp_path, "http://mobiletest.invalid", "mt_key")


async def add_shop(shell: Shell, world: World) -> None:
    """The app "Shop" with build 1.0, and a folder with its file and two flows that are no tests yet."""
    shell.write({".maestro/log-in.yaml": LOG_IN, ".maestro/basket.yaml": BROKEN, "app.apk": fresh("app")})
    app = await world.app(name="Shop", description="Sells mugs")
    await world.upload(app, shell.folder / "app.apk", version="1.0")


@pytest.fixture
async def shop(shell: Shell, world: World) -> Shell:
    """A shell with what `add_shop` adds."""
    await add_shop(shell, world)
    return shell


@pytest.fixture(scope="module")
def read_shop(stack: SharedStack, tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A shell of an organisation that all tests of a module read: as `shop`, with tests that have not been run."""

    async def prepare() -> Shell:
        shell = new_shell(tmp_path_factory.mktemp("shop"), stack.url, await fresh_key(stack, "Test"))
        async with Api(stack.url, shell.environ["MOBILETEST_API_KEY"]) as api:
            await add_shop(shell, World(api))
        await shell.ok("tests", "push")
        return shell

    return asyncio.run(prepare())
