"""A program in a terminal, with keys that are pressed and the text that it shows."""

import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

SECONDS = 30.0
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?>=]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>])")


class Terminal:
    """The keyboard and the screen of a program that runs."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._shown = ""

    def press(self, keys: str) -> None:
        """Type, with "\\t" for Tab and "\\n" for Enter."""
        os.write(self._descriptor, keys.encode())

    def wait_for(self, text: str) -> str:
        """What is shown up to this text, since the last call, without escape sequences."""
        deadline = time.monotonic() + SECONDS
        while text not in (shown := _ESCAPES.sub("", self._shown)):
            ready, _, _ = select.select([self._descriptor], [], [], max(0.0, deadline - time.monotonic()))
            read = self._read() if ready else b""
            assert read, f"{text} was not shown, but: {shown}"
            self._shown += read.decode(errors="replace")
        before, _, rest = shown.partition(text)
        self._shown = rest
        return before

    def _read(self) -> bytes:
        """Nothing after the end of the program."""
        try:
            return os.read(self._descriptor, 4096)
        except OSError:
            return b""


@contextmanager
def terminal(program: Sequence[str], folder: Path, environ: Mapping[str, str]) -> Iterator[Terminal]:
    """A program in a terminal of its own, which ends with the block."""
    keyboard, screen = pty.openpty()
    process = subprocess.Popen(
        program,
        cwd=folder,
        env={**environ, "TERM": "xterm", "LANG": "C.UTF-8"},
        stdin=screen,
        stdout=screen,
        stderr=screen,
        start_new_session=True,
        preexec_fn=lambda: _take(screen),
    )
    os.close(screen)
    try:
        yield Terminal(keyboard)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(keyboard)


def _take(screen: int) -> None:
    """Make it the controlling terminal of this session."""
    os.close(os.open(os.ttyname(screen), os.O_RDWR))
