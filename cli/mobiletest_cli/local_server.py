"""A server on this machine for the time of one command, started from a checkout of mobiletest."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mobiletest_cli.configuration import Server
from mobiletest_cli.errors import UNREACHABLE, USAGE, CliError
from mobiletest_cli.output import Output

_PR_SET_PDEATHSIG = 1
_HELD = (signal.SIGINT, signal.SIGTERM)
START_SECONDS = 180.0
STOP_SECONDS = 30.0


@contextmanager
def local_server(output: Output) -> Iterator[Server]:
    """The address and key of a server with simulated devices, which is stopped at the end, and whose data are deleted.

    Raises:
        CliError: there is no checkout, or it does not start.
    """
    checkout = _find_checkout()
    output.say(f"Starting a server from {checkout} ...")
    with tempfile.TemporaryDirectory(prefix="mobiletest-") as state:
        process = None
        try:
            with _signals_held():
                process = _start(checkout, Path(state))
            yield _wait_until_ready(process, Path(state))
        finally:
            if process is not None:
                _stop(process)


@contextmanager
def _signals_held() -> Iterator[None]:
    """Signals that come meanwhile take effect at the end: after a fork Python drops what their handlers raise."""
    earlier = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, earlier)


def _find_checkout() -> Path:
    """The checkout that MOBILETEST_CHECKOUT names, or that this command or the current folder is in."""
    named = os.environ.get("MOBILETEST_CHECKOUT")
    starts = [Path(named)] if named else [Path.cwd(), Path(__file__).resolve().parent]
    for start in starts:
        for folder in (start, *start.parents):
            if (folder / "deploy" / "local" / "run.py").is_file():
                return folder
    hint = "Clone the repository of mobiletest, run make venv proto in it, and set MOBILETEST_CHECKOUT to its path"
    raise CliError("--local-server needs a checkout of mobiletest", USAGE, hint)


def _start(checkout: Path, state: Path) -> subprocess.Popen[bytes]:
    python = checkout / ".venv" / "bin" / "python"
    if not python.is_file():
        raise CliError(f"{checkout} has no environment", USAGE, f"make -C {checkout} venv proto")
    environment = {**os.environ, "MOBILETEST_STATE_DIR": str(state), "MOBILETEST_PORT": "0"}
    with (state / "run.log").open("wb") as log:
        return subprocess.Popen(  # noqa: S603 - our own program
            [str(python), "-m", "deploy.local", "run", "--no-examples"],
            cwd=checkout,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_prepare_child,
        )


def _prepare_child() -> None:
    """Let the kernel stop this process when the command is killed, or leaves at the second signal."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD)


def _wait_until_ready(process: subprocess.Popen[bytes], state: Path) -> Server:
    deadline = time.monotonic() + START_SECONDS
    ready = state / "ready.json"
    while not ready.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            last = (state / "run.log").read_text(errors="replace").splitlines()[-5:]
            raise CliError("the local server did not start:", UNREACHABLE, details=last)
        time.sleep(0.1)
    document = json.loads(ready.read_text("utf-8"))
    return Server(document["url"], document["api_key"], key_source="--local-server")


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
