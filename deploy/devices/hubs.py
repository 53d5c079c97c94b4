"""Runs WebDriver hubs as child processes, and ends them together with the processes that they started."""

import asyncio
import json
import os
import shutil
import signal
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from deploy.local.child import Child, ChildSpec
from deploy.local.ports import LOOPBACK, Ports

APPIUM_HOME = Path(__file__).parents[2] / "build" / "tools" / "appium"
READY_SECONDS = 60.0
_MARK = "MOBILETEST_HUB"

# Without `--user-data-dir`: chromedriver creates one for each session in the folder of its hub.
CHROMIUM_ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--window-size=420,900",
)

# Debian's. The command of this name is a shell script: to kill that leaves the browser running.
HEADLESS_SHELL = "/usr/lib/chromium/chromium-headless-shell"


class HubMissing(Exception):
    """A program is not installed; the message says how to install it."""


@dataclass(frozen=True, slots=True)
class Hub:
    """A running hub. `folder` has its logs and temporary files, and is deleted with it."""

    url: str
    child: Child
    folder: Path


@contextmanager
def appium() -> Iterator[Hub]:
    """An Appium server with the fake driver."""
    program = _node()
    main = APPIUM_HOME / "node_modules" / "appium" / "index.js"
    if program is None or not main.is_file():
        raise HubMissing(f"Appium is not installed in {APPIUM_HOME}: run `make devices` once (it needs npm)")
    with Ports() as ports:
        port = ports.take()
        argv = (program, str(main), "--address", LOOPBACK, "--port", str(port), "--log-no-colors", "--log-timestamp")
        with _run_hub("appium", argv, port, {"APPIUM_HOME": str(APPIUM_HOME)}) as hub:
            yield hub


@contextmanager
def chromedriver() -> Iterator[Hub]:
    """A chromedriver, which starts a browser for each session."""
    program = shutil.which("chromedriver")
    if program is None or chromium() is None:
        raise HubMissing(
            "chromium and chromedriver are not installed; on Debian: apt-get install chromium chromium-driver"
        )
    with Ports() as ports:
        port = ports.take()
        with _run_hub("chromedriver", (program, f"--port={port}"), port, {}) as hub:
            yield hub


def chromium() -> str | None:
    """The Chromium of the system. The build without windows, if installed, starts with a quarter of the CPU."""
    return shutil.which(HEADLESS_SHELL) or shutil.which("chromium")


def chromium_capabilities() -> dict[str, object]:
    """Capabilities for a headless browser of a phone's size, with its console logs."""
    return {
        "browserName": "chrome",
        "goog:chromeOptions": {"binary": chromium() or "chromium", "args": list(CHROMIUM_ARGUMENTS)},
        "goog:loggingPrefs": {"browser": "ALL"},
    }


@contextmanager
def _run_hub(name: str, argv: tuple[str, ...], port: int, env: Mapping[str, str]) -> Iterator[Hub]:
    mark = uuid4().hex
    with tempfile.TemporaryDirectory(prefix=f"mobiletest-{name}-", ignore_cleanup_errors=True) as folder:
        given = {**env, _MARK: mark, "TMPDIR": folder, "XDG_CONFIG_HOME": folder, "XDG_CACHE_HOME": folder}
        child = Child(ChildSpec(name, argv, Path(folder) / f"{name}.log", given, grace=5.0))
        url = f"http://{LOOPBACK}:{port}"
        try:
            child.start()
            asyncio.run(child.ready(lambda: asyncio.to_thread(_takes_sessions, url), within=READY_SECONDS))
            yield Hub(url, child, Path(folder))
        finally:
            asyncio.run(child.stop())
            _end_marked(mark)


def _node() -> str | None:
    """The Node.js that is installed with Appium (Debian's is too old for it), otherwise the one on the PATH."""
    own = sorted(APPIUM_HOME.glob("node_modules/node-*/bin/node"))
    return str(own[0]) if own else shutil.which("node")


def _takes_sessions(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/status", timeout=5) as answer:  # noqa: S310 -- our own child's address
            return bool(json.load(answer)["value"]["ready"])
    except OSError:
        return False


def _end_marked(mark: str) -> None:
    """Kill processes that the hub left behind: a killed chromedriver leaves its browsers."""
    wanted = f"{_MARK}={mark}".encode()
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if wanted in environment.read_bytes().split(b"\0"):
                os.kill(int(environment.parent.name), signal.SIGKILL)
