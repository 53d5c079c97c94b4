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
from tests.e2e.client import Api
from tests.shared_infrastructure import SharedStack

ROOT = Path(__file__).parents[3]
OURS = ("MOBILETEST_", "CI", "GITHUB_", "GITLAB_", "NO_COLOR", "COLUMNS")
INHERITED = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
"""What programs get of the environment: nothing that the command would use."""
_process = threading.Lock()
"""Held by the one command that may change what belongs to the process."""


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

    async def execute(self, *program: str) -> asyncio.subprocess.Process:
        """A program that runs in the folder and the environment."""
        return await asyncio.create_subprocess_exec(
            *program,
            cwd=self.folder,
            env=self.environment,
            stdin=asyncio.subprocess.PIPE,
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


@pytest.fixture
def shell(stack: SharedStack, api: Api, tmp_path: Path) -> Shell:
    """A shell of a user with a key that may do everything."""
    folder = tmp_path / "project"
    folder.mkdir()
    environ = {
        "MOBILETEST_URL": stack.url,
        "MOBILETEST_API_KEY": str(api.key),
        "MOBILETEST_CONFIG_DIR": str(tmp_path / "config"),
    }
    return Shell(folder, environ)


def ids(items: Sequence[Any]) -> list[str]:
    """The ids of items."""
    return [item["id"] for item in items]
