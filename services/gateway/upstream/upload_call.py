"""Client-streaming calls that the service may end while messages are still being written.

gRPC fails the write that is under way then with an internal error of its own. That error becomes the status of the
call: for a moment when it comes before the status of the service, for ever when it comes after it. So the first status
is kept.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import grpc
from google.protobuf.message import Message


async def upload(call: Any, messages: AsyncIterator[Message]) -> Any:
    """Write the messages; the response of the service, or the AioRpcError with which it ended the call."""
    statuses: list[grpc.aio.AioRpcError] = []
    call.add_done_callback(lambda ended: statuses.append(_status(ended)))
    with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
        async for message in messages:
            await call.write(message)
        await call.done_writing()
    try:
        return await call
    except grpc.aio.AioRpcError:
        if statuses and statuses[0].code() not in (grpc.StatusCode.OK, grpc.StatusCode.INTERNAL):
            raise statuses[0] from None
        raise


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
