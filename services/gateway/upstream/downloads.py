"""Calls of RPCs that stream a file; the gateway reads a large one from the object store."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from google.protobuf.message import Message
from mobiletest.types.v1.stored_object_pb2 import StoredObject

from services.chassis import logs
from services.chassis.byte_ranges import FilePart
from services.chassis.errors import DomainError
from services.chassis.object_store import ObjectStore
from services.chassis.stored_transfers import READS_OBJECTS, stored_object
from services.gateway.upstream.rpcs import Rpc

# A store that has not sent its first bytes by then is left to the service.
OPEN_SECONDS = 5.0

log = logs.get(__name__)


@dataclass(frozen=True, slots=True)
class Download:
    """A file whose first bytes have arrived: what the service says of it, and its bytes."""

    metadata: Mapping[str, Any]
    content_type: str
    stored: StoredObject | None
    chunks: AsyncIterator[bytes]


class DownloadCalls:
    """The calls of one method. `objects` is the store of the services."""

    def __init__(self, rpc: Rpc, objects: ObjectStore) -> None:
        self._rpc = rpc
        self._objects = objects

    @asynccontextmanager
    async def open(self, request: Message, timeout: float) -> AsyncIterator[Download]:
        """The download, until the end of the block. What the object store does not give, the service sends."""
        async with AsyncExitStack() as stack:
            download = await self._call(stack, request, timeout, (READS_OBJECTS,))
            if stored := download.stored:
                try:
                    download = replace(download, chunks=await _read(stack, self._objects, stored))
                except (DomainError, OSError) as error:
                    log.warning("object_not_read", key=stored.key, error=repr(error))
                    download = await self._call(stack, request, timeout, ())
            yield download

    async def _call(
        self, stack: AsyncExitStack, request: Message, timeout: float, metadata: tuple[tuple[str, str], ...]
    ) -> Download:
        call = self._rpc(request, timeout=timeout, metadata=metadata)
        stack.callback(call.cancel)
        bodies = aiter(call)
        first = await anext(bodies, None)
        named = dict(await call.initial_metadata())
        if first is None:
            return Download(named, "", None, _data(bodies))
        return Download(named, first.content_type, stored_object(first), _joined(first.data, _data(bodies)))


async def _read(stack: AsyncExitStack, objects: ObjectStore, stored: StoredObject) -> AsyncIterator[bytes]:
    part = FilePart(stored.start, stored.end, stored.end)
    chunks: Any = objects.get_stream(stored.key, part)
    await stack.enter_async_context(aclosing(chunks))
    async with asyncio.timeout(OPEN_SECONDS):
        first = await anext(chunks, b"")
    return _joined(first, chunks)


async def _data(bodies: AsyncIterator[Any]) -> AsyncGenerator[bytes, None]:
    async for body in bodies:
        yield body.data


async def _joined(first: bytes, rest: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    yield first
    async for chunk in rest:
        yield chunk
