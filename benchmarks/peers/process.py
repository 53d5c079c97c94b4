"""Starts the FastAPI peer on documents equal to ours and stops it."""

import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.comparison import Side
from benchmarks.load import Target
from benchmarks.peers.documents import DATABASE, fill
from benchmarks.seed import Seed
from deploy.local.child import Child, ChildSpec
from deploy.local.ports import LOOPBACK, Ports
from deploy.local.service import status
from deploy.local.stack import Stack

FASTAPI = "FastAPI"
_START_SECONDS = 30.0
_ARGUMENTS = ("-m", "uvicorn", "benchmarks.peers.monolith:app", "--no-access-log", "--log-level", "error", "--port")


@asynccontextmanager
async def fastapi_peer(running: Stack, seed: Seed) -> AsyncIterator[Side]:
    """The peer on the MongoDB of a stack, with what `seed` describes."""
    await fill(running.mongo_uri, seed, running.api_key)
    async with _served(running.mongo_uri, running.api_key) as (child, target):
        yield Side(FASTAPI, target, {"fastapi": child.pid, "mongod": running.pid_of("mongod")})


@asynccontextmanager
async def _served(mongo_uri: str, api_key: str) -> AsyncIterator[tuple[Child, Target]]:
    with Ports() as ports, tempfile.TemporaryDirectory() as folder:
        port = ports.take()
        env = {"PEER_MONGO_URI": mongo_uri, "PEER_DATABASE": DATABASE}
        argv = [sys.executable, *_ARGUMENTS, str(port)]
        child = Child(ChildSpec("fastapi", argv, Path(folder) / "fastapi.log", env))
        target = Target(f"http://{LOOPBACK}:{port}", api_key)
        child.start()
        try:
            await child.ready(lambda: answers(target), within=_START_SECONDS)
            yield child, target
        finally:
            await child.stop()


async def answers(target: Target) -> bool:
    """Whether it answers with a page of apps."""
    headers = {"Authorization": f"Bearer {target.api_key}"}
    return await status(f"{target.url}/api/v1/apps/?page_size=1", headers) == 200
