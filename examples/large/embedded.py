"""The embedded stack of this machine, by its state folder; of no other stack is anything changed."""

import asyncio
import json
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Unusable(Exception):
    """The stack is none whose times may be changed; the message says why."""


@dataclass(frozen=True, slots=True)
class Organisation:
    """An organisation that this package has made. `complete`: it has all its data."""

    name: str
    org_id: str
    api_key: str
    complete: bool = False


@dataclass(frozen=True, slots=True)
class EmbeddedStack:
    """A stack that runs on this machine, with its own MongoDB in the folder."""

    folder: Path
    url: str

    @classmethod
    def find(cls, folder: Path) -> "EmbeddedStack":
        """The stack that runs on the state folder.

        Raises:
            Unusable: none does, or its MongoDB is not the embedded one.
        """
        ready = folder / "ready.json"
        if not ready.exists():
            raise Unusable(f"no stack runs on {folder}: start it by `make run`, or set MOBILETEST_STATE_DIR")
        stack = cls(folder, json.loads(ready.read_text())["url"])
        hosts = {urlsplit(stack.url).hostname, urlsplit(stack.mongo_uri).hostname}
        if not hosts <= set(_LOOPBACK) or not any((folder / "mongod").iterdir()):
            raise Unusable(f"the stack on {folder} uses a MongoDB of somebody else: its times are not changed")
        return stack

    @property
    def mongo_uri(self) -> str:
        return self.environment("catalog")["MOBILETEST_MONGO_URI"]

    def environment(self, service: str) -> dict[str, str]:
        """The variables of a service of the stack."""
        lines = (self.folder / "env" / f"{service}.env").read_text().splitlines()
        pairs = (line.partition("=") for line in lines if line)
        return {name: "".join(shlex.split(value)) for name, _, value in pairs}

    async def command(self, service: str, *arguments: str) -> str:
        """What a command of a service prints.

        Raises:
            Unusable: it failed; the message has what it printed.
        """
        process = await self._start(service, *arguments)
        output, errors = await process.communicate()
        if process.returncode:
            text = f"{service} {' '.join(arguments)}: exit code {process.returncode}"
            raise Unusable(f"{text}\n{output.decode()[-2000:]}{errors.decode()[-2000:]}")
        return output.decode()

    async def _start(self, service: str, *arguments: str) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        argv = [sys.executable, "-m", f"services.{service}", *arguments]
        env = {**os.environ, **self.environment(service)}
        return await asyncio.create_subprocess_exec(*argv, env=env, stdout=pipe, stderr=pipe)

    async def new_organisation(self, name: str) -> Organisation:
        """An organisation with an API key that has all scopes."""
        output = await self.command("catalog", "bootstrap", "--name", name)
        answer = json.loads(output.strip().splitlines()[-1])
        return Organisation(name, answer["org_id"], answer["api_key"])

    def organisations(self) -> dict[str, Organisation]:
        """Those that were made here before, by name."""
        kept: Mapping[str, Any] = json.loads(self._file.read_text()) if self._file.exists() else {}
        return {name: Organisation(**fields) for name, fields in kept.items()}

    def keep(self, organisation: Organisation) -> None:
        """Write it down, in a file that only its owner reads."""
        kept = {**self.organisations(), organisation.name: organisation}
        self._file.touch(mode=0o600)
        self._file.write_text(json.dumps({name: asdict(each) for name, each in kept.items()}, indent=2) + "\n")

    @property
    def _file(self) -> Path:
        return self.folder / "large.json"
