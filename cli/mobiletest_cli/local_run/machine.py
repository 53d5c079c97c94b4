"""What can be asked of this machine: its programs, and which addresses answer."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from typing import Protocol

_SECONDS = 10.0
_ANSWER_SECONDS = 2.0


class Machine(Protocol):
    """The machine on which the command runs."""

    def find_program(self, name: str) -> str | None:
        """The path of a program; None if it is not installed."""

    def read_output(self, program: Sequence[str]) -> str:
        """What a program prints; "" if it fails, or needs more than some seconds."""

    def is_hub(self, url: str) -> bool:
        """Whether a WebDriver server answers below the address."""


class ThisMachine:
    """The machine itself."""

    def find_program(self, name: str) -> str | None:
        return shutil.which(name)

    def read_output(self, program: Sequence[str]) -> str:
        try:
            ended = subprocess.run(program, capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return ended.stdout.decode(errors="replace") if ended.returncode == 0 else ""

    def is_hub(self, url: str) -> bool:
        import urllib.request  # for phones and browsers only

        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"{url.rstrip('/')}/status", timeout=_ANSWER_SECONDS) as answer:
                return answer.status == 200 and b'"value"' in answer.read(65536)
        except (OSError, ValueError):
            return False
