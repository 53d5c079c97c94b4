"""Runs the command as a process, in a folder of its own, with the key of a fresh organisation."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.client import Api
from tests.shared_infrastructure import SharedStack

ROOT = Path(__file__).parents[3]
OURS = ("MOBILETEST_", "CI", "GITHUB_", "GITLAB_", "NO_COLOR", "COLUMNS")


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

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        """A command that runs."""
        return await self.execute(*self.program(*arguments))

    def program(self, *arguments: str) -> Sequence[str]:
        """The command with arguments."""
        return [sys.executable, "-m", "mobiletest_cli", *arguments]

    @property
    def environment(self) -> dict[str, str]:
        """What programs get: nothing of the caller that the command would use."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        return {**inherited, "PYTHONPATH": str(ROOT / "cli"), "COLUMNS": "200", **self.environ}

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

    async def run(self, *arguments: str, stdin: str = "") -> Ended:
        """A command that ended."""
        process = await self.start(*arguments)
        out, err = await process.communicate(stdin.encode())
        return Ended(process.returncode or 0, out.decode(), err.decode())

    def write(self, files: dict[str, str]) -> None:
        """Write files below the folder."""
        for path, text in files.items():
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)


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
