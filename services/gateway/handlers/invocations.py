"""Functions that get the response message of an operation: through its RPC, or through a batch."""

from collections.abc import Awaitable, Callable
from typing import Any

from google.protobuf.message import Message

from services.chassis.grpc_channel import REPLAYED
from services.gateway.handlers.concurrency import ConcurrencyLimit
from services.gateway.http.open_streams import OpenStreams
from services.gateway.http.request_context import RequestContext
from services.gateway.upstream.call_batcher import CallBatcher
from services.gateway.upstream.rpcs import BatchReader, Rpc

# (request message, context, timeout in seconds) -> response message
Invocation = Callable[[Any, RequestContext, float], Awaitable[Any]]


def call_rpc(rpc: Rpc) -> Invocation:
    """The RPC itself."""

    async def invoke(message: Message, context: RequestContext, timeout: float) -> Any:
        call = rpc(message, timeout=timeout)
        answer = await call
        if context.caller.idempotency_key is not None and REPLAYED in tuple(await call.trailing_metadata() or ()):
            context.response_headers["Idempotent-Replayed"] = "true"
        return answer

    return invoke


def call_in_batch(calls: CallBatcher) -> Invocation:
    """The RPC, in one message with those that are called at the same time."""

    async def invoke(message: Message, context: RequestContext, timeout: float) -> Any:
        answered = await calls.call(message, context.caller, timeout)
        if answered.replayed:
            context.response_headers["Idempotent-Replayed"] = "true"
        return answered.response

    return invoke


def unless_searching(batch: Invocation, alone: Invocation) -> Invocation:
    """A list that makes a call of its own when it searches: no other list shall wait for a slow search."""

    async def invoke(message: Any, context: RequestContext, timeout: float) -> Any:
        return await (alone if message.search else batch)(message, context, timeout)

    return invoke


async def read_resource(reader: BatchReader, id_: str, context: RequestContext, timeout: float) -> Any:
    """A resource, which the operations of a page read once. NotFound."""
    if context.resources is None:
        return await reader.get(context.caller, id_, timeout)
    if (reader, id_) not in context.resources:
        context.resources[reader, id_] = await reader.get(context.caller, id_, timeout)
    return context.resources[reader, id_]


def read_by_id(reader: BatchReader, id_field: str) -> Invocation:
    """A Get by the one id in its request."""

    async def invoke(message: Any, context: RequestContext, timeout: float) -> Any:
        return await read_resource(reader, getattr(message, id_field), context, timeout)

    return invoke


def long_poll_or_batch(
    batch: Invocation, long_poll: Invocation, open_streams: OpenStreams, streams: ConcurrencyLimit
) -> Invocation:
    """A Get that makes a call of its own when the client waits for a change, which ends when the client's key does."""

    async def invoke(message: Any, context: RequestContext, timeout: float) -> Any:
        if not message.wait:
            return await batch(message, context, timeout)
        with streams.enter(context):
            async with open_streams.while_valid(context):
                return await long_poll(message, context, timeout)

    return invoke
