"""Handles several calls of one method that came in one message, each as if it had come alone (mobiletest.calls.v1)."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NoReturn

import grpc
from mobiletest.calls.v1 import calls_pb2

from services.chassis.error_status import DETAILS_KEY, to_grpc
from services.chassis.errors import DomainError
from services.chassis.method_options import describe_methods
from services.chassis.service_token import Callers, authorize, read_metadata

MAX_CALLS = 100
PATH = "/mobiletest.calls.v1.Calls/CallTogether"

# Of calls whose answers are limited: those that are being made when the limit is reached exceed it.
AT_ONCE = 16
_NO_ROOM: int = grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
_METHOD = describe_methods([calls_pb2.DESCRIPTOR.services_by_name["Calls"]])[PATH]

# From the path of a method to its gRPC handler, None for an unknown one.
FindHandler = Callable[[str], Awaitable[Any]]


def calls_handler(find: FindHandler, callers: Callers) -> Any:
    """The handler of CallTogether, which `callers` may call as its contract says."""

    async def handle(request: calls_pb2.CallTogetherRequest, context: Any) -> calls_pb2.CallTogetherResponse:
        try:
            authorize(_METHOD, read_metadata(context.invocation_metadata()), callers)
        except DomainError as error:
            await context.abort_with_status(to_grpc(error))
        handler = await find(request.method) if request.method != PATH else None
        if handler is None or handler.unary_unary is None:
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, f"There is no unary method {request.method}")
        if len(request.calls) > MAX_CALLS:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"More than {MAX_CALLS} calls in one message")
        token = [(key, value) for key, value in context.invocation_metadata() or () if key == "authorization"]
        room = asyncio.Semaphore(AT_ONCE if request.answer_bytes else MAX_CALLS)
        taken = 0

        async def answer(call: calls_pb2.Call) -> calls_pb2.Answer:
            nonlocal taken
            async with room:
                if request.answer_bytes and taken >= request.answer_bytes:
                    return calls_pb2.Answer(code=_NO_ROOM)
                answered = await _answer(handler, call, token, context)
                taken += len(answered.response)
                return answered

        return calls_pb2.CallTogetherResponse(answers=await asyncio.gather(*map(answer, request.calls)))

    return grpc.unary_unary_rpc_method_handler(
        handle, calls_pb2.CallTogetherRequest.FromString, calls_pb2.CallTogetherResponse.SerializeToString
    )


async def _answer(handler: Any, call: calls_pb2.Call, token: Iterable[tuple[str, str]], whole: Any) -> calls_pb2.Answer:
    context = _CallContext(whole, (*call.metadata.items(), *token))
    try:
        response = await handler.unary_unary(handler.request_deserializer(call.request), context)
    except _Aborted as aborted:
        return _refusal(aborted.status)
    return calls_pb2.Answer(response=handler.response_serializer(response), metadata=dict(context.trailing))


def _refusal(status: grpc.Status) -> calls_pb2.Answer:
    details: Any = dict(status.trailing_metadata or ()).get(DETAILS_KEY, b"")
    return calls_pb2.Answer(code=status.code.value[0], message=status.details, details=details)


class _Aborted(Exception):
    """The call has ended with this status."""

    def __init__(self, status: grpc.Status) -> None:
        super().__init__(status)
        self.status = status


class _CallContext:
    """What a method may ask of the context of its call. `whole` is that of the message with all calls."""

    def __init__(self, whole: Any, metadata: tuple[tuple[str, str], ...]) -> None:
        self._metadata = metadata
        self.time_remaining = whole.time_remaining
        self.trailing: Iterable[tuple[str, str]] = ()

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        return self._metadata

    def set_trailing_metadata(self, metadata: Iterable[tuple[str, str]]) -> None:
        self.trailing = metadata

    async def abort_with_status(self, status: grpc.Status) -> NoReturn:
        raise _Aborted(status)
