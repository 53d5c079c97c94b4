"""Runs `mobiletest run --local` in this process, in a folder of its own and with an environment of its own."""

import json
import os
from collections.abc import Mapping
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from mobiletest_cli.app import run_command

PASSING = """appId: com.example.shop
name: Log in
tags: [smoke]
---
- launchApp
- assertVisible: Log in
"""
FAILING = """appId: com.example.shop
name: Open the basket
---
- launchApp
- extendedWaitUntil: {visible: Nothing of this name, timeout: 50}
"""


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


@dataclass(frozen=True)
class LocalShell:
    """A project's folder. `run` runs its flows on the simulated device."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    def write(self, **flows: str) -> None:
        """Write flows of these names to .maestro."""
        for name, text in flows.items():
            path = self.folder / ".maestro" / f"{name}.yaml"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)

    def run(self, *arguments: str, **environ: str) -> Ended:
        return self.call("run", "--local", "--device", "simulated", *arguments, environ=environ)

    def call(self, *arguments: str, environ: Mapping[str, str] | None = None) -> Ended:
        given = {"PATH": os.environ["PATH"], "COLUMNS": "200", "TMPDIR": str(self.folder), **(environ or {})}
        with chdir(self.folder), patch.dict(os.environ, given, clear=True):
            code = run_command(arguments)
        printed = self.capsys.readouterr()
        return Ended(code, printed.out, printed.err)
