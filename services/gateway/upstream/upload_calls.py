"""Calls of RPCs that take a file: the gateway writes it to the object store, and the service learns how far it is.

The service may end a call while messages are still being written. gRPC fails the write that is under way then with an
internal error of its own. That error becomes the status of the call: for a moment when it comes before the status of
the service, for ever when it comes after it. So the first status is kept.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any

import grpc

from services.chassis.errors import DomainError, Unavailable
from services.chassis.grpc_channel import REPLAYED
from services.chassis.object_store import ObjectStore
from services.chassis.stored_transfers import WRITES_OBJECTS, object_key
from services.chassis.upload_rate import UploadRate
from services.gateway.upstream.call_batcher import Answered
from services.gateway.upstream.rpcs import Rpc

# How long a service may take to say where to write a file.
KEY_SECONDS = 10.0
# The service learns how far an upload is after so many more bytes, and after so long.
REPORT_BYTES = 8 * 1024 * 1024
REPORT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class FileUpload:
    """A file that arrives: the first message of its call, its bytes, and afterwards the last message without `end`."""

    first: Any
    chunks: AsyncIterator[bytes]
    last: Callable[[], Awaitable[Any]]


class UploadCalls:
    """The calls of one method. `objects` is the store of the services, `rate` that of all that is written to it."""

    def __init__(self, rpc: Rpc, objects: ObjectStore, rate: UploadRate, *, key_seconds: float = KEY_SECONDS) -> None:
        self._rpc = rpc
        self._objects = objects
        self._rate = rate
        self._key_seconds = key_seconds

    async def send(self, upload: FileUpload, timeout: float) -> Answered:
        """The response of the service; after any failure nothing is left where it wanted the file.

        Raises:
            AioRpcError: the service ended the call with it.
            Unavailable: the service does not say where to write the file.
        """
        opened = self._rpc(None, timeout=timeout, metadata=(WRITES_OBJECTS,))
        call, key = _Call(opened), None
        try:
            key = await call.begin(upload.first, self._key_seconds)
            if key is not None:
                await call.write_all(self._store(call, key, upload))
            return await call.response()
        except BaseException:
            opened.cancel()
            if key is not None:
                # Shielded, because the client may be gone, and a service with another store does not find the file.
                await asyncio.shield(self._delete(key))
            raise

    async def _delete(self, key: str) -> None:
        with suppress(DomainError):
            await self._objects.delete(key)

    async def _store(self, call: "_Call", key: str, upload: FileUpload) -> None:
        stored = await self._objects.put_stream(key, _reported(call, upload, self._rate.limit(upload.chunks)))
        message = await upload.last()
        message.MergeFrom(type(message)(end={"size": stored.size, "sha256": stored.sha256}))
        await call.write(message)


class _Call:
    """A client-streaming call."""

    def __init__(self, call: Any) -> None:
        self._call = call
        self._statuses: list[grpc.aio.AioRpcError] = []
        call.add_done_callback(lambda ended: self._statuses.append(_status(ended)))

    def is_over(self) -> bool:
        return bool(self._call.done())

    async def write(self, message: Any) -> None:
        """AioRpcError or InvalidStateError: the call has ended."""
        await self._call.write(message)

    async def write_all(self, writing: Awaitable[None]) -> None:
        """Wait until all messages are written, or the call has ended."""
        with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            await writing
            await self._call.done_writing()

    async def begin(self, first: Any, timeout: float) -> str | None:
        """Write the first message; where the service wants the file to be written, None if it refuses the upload.

        Raises:
            Unavailable: the service says neither.
        """
        try:
            async with asyncio.timeout(timeout):
                await self._call.write(first)
                return object_key(await self._call.initial_metadata())
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            return None
        except TimeoutError:
            raise Unavailable("The service does not take the upload, try again", retry_after=timeout) from None

    async def response(self) -> Answered:
        try:
            response = await self._call
            return Answered(response, REPLAYED in tuple(await self._call.trailing_metadata() or ()))
        except grpc.aio.AioRpcError:
            if self._statuses and self._statuses[0].code() not in (grpc.StatusCode.OK, grpc.StatusCode.INTERNAL):
                raise self._statuses[0] from None
            raise


async def _reported(call: _Call, upload: FileUpload, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The chunks, while the call goes on and learns of them."""
    size = reported = 0
    reported_at = monotonic()
    async for chunk in chunks:
        if call.is_over():
            raise asyncio.InvalidStateError
        size += len(chunk)
        if size - reported >= REPORT_BYTES or monotonic() - reported_at >= REPORT_SECONDS:
            await call.write(type(upload.first)(stored_bytes=size))
            reported, reported_at = size, monotonic()
        yield chunk


def _status(ended: Any) -> grpc.aio.AioRpcError:
    return grpc.aio.AioRpcError(
        _value(ended.code()),
        _value(ended.initial_metadata()),
        _value(ended.trailing_metadata()),
        _value(ended.details()),
    )


def _value(coroutine: Any) -> Any:
    """The result of a coroutine that has nothing to wait for, because the call has ended."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("the call has not ended")
