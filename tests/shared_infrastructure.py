"""Shares one infrastructure between all pytest-xdist workers of a run.

The controlling pytest process keeps it in a thread and answers requests on a Unix socket; its workers, and itself
when there are none, ask. The parts are children of that process, so they end when it does, however it does.
"""

import asyncio
import json
import os
import socket
import threading
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from tests.infrastructure import Infrastructure, Unavailable

ADDRESS = "MOBILETEST_TEST_INFRASTRUCTURE"
_PATIENCE_SECONDS = 180.0
Answer = dict[str, object]


class InfrastructureFailed(Exception):
    """A request failed in the controlling process, and not because a server is missing."""


class InfrastructureServer:
    """The thread that owns the infrastructure. `start` and `stop` are called by the controlling process."""

    def __init__(self) -> None:
        self._thread = threading.Thread(target=self._run, name="infrastructure", daemon=True)
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()

    def start(self) -> None:
        """Returns when requests are answered; their address is in the environment then, for the workers."""
        self._thread.start()
        self._ready.wait(_PATIENCE_SECONDS)

    def stop(self) -> None:
        """Stop what was started and wait for it."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_PATIENCE_SECONDS)
        os.environ.pop(ADDRESS, None)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with Infrastructure() as infrastructure:
            handler = _Requests(infrastructure)
            path = str(infrastructure.folder / "requests")
            async with await asyncio.start_unix_server(handler.answer, path):
                os.environ[ADDRESS] = path
                self._ready.set()
                await self._stop.wait()


class _Requests:
    """Answers one request per connection: {"want": what, ...arguments} -> {"value" | "unavailable" | "failed": ...}."""

    def __init__(self, infrastructure: Infrastructure) -> None:
        self._infrastructure = infrastructure
        self._answers: dict[str, Callable[..., Awaitable[object]]] = {
            "mongo": infrastructure.mongo,
            "kafka": infrastructure.kafka,
            "stack": self._stack,
        }

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = json.loads(await reader.readline())
        answer = await self._outcome(request)
        writer.write(json.dumps(answer).encode() + b"\n")
        await writer.drain()
        writer.close()

    async def _outcome(self, request: dict[str, str]) -> Answer:
        try:
            return {"value": await self._answers[request.pop("want")](**request)}
        except Unavailable as reason:
            return {"unavailable": str(reason)}
        except Exception:
            return {"failed": traceback.format_exc()}

    async def _stack(self) -> dict[str, object]:
        stack = await self._infrastructure.stack()
        return {name: getattr(stack, name) for name in SharedStack.__dataclass_fields__}


def request_part(want: str, **arguments: str) -> Any:
    """A part of the shared infrastructure. Unavailable when its server is missing, else InfrastructureFailed."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_PATIENCE_SECONDS)
        connection.connect(os.environ[ADDRESS])
        connection.sendall(json.dumps({"want": want, **arguments}).encode() + b"\n")
        answer: Answer = json.loads(connection.makefile().readline())
    if "unavailable" in answer:
        raise Unavailable(str(answer["unavailable"]))
    if "failed" in answer:
        raise InfrastructureFailed(str(answer["failed"]))
    return answer["value"]


@dataclass(frozen=True, slots=True)
class SharedStack:
    """The running stack that all tests of a run share; tests that break something start one of their own."""

    url: str
    api_key: str
    grpc: dict[str, str]
    grpc_token: str
    mongo_uri: str
    kafka_bootstrap: str
