"""Starts `benchmarks.peers.files` and stops it."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from deploy.local.child import die_with_parent, poll_until
from deploy.local.ports import LOOPBACK, Ports, accepts

_START_SECONDS = 30


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[str]:
    """The URL of the peer, which keeps its files in `folder`."""
    with Ports() as ports:
        port = ports.take()
    argv = ["-m", "benchmarks.peers.files", str(folder), str(port)]
    process = await asyncio.create_subprocess_exec(sys.executable, *argv, preexec_fn=die_with_parent())
    try:
        if not await poll_until(lambda: accepts(port), within=_START_SECONDS):
            raise TimeoutError("the peer did not start")
        yield f"http://{LOOPBACK}:{port}"
    finally:
        process.terminate()
        await process.wait()
