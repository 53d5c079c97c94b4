"""Calls of one method that are made at the same time share a message (mobiletest.calls.v1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from mobiletest.calls.v1 import calls_pb2

from services.chassis.batcher import Batcher
from services.chassis.call_together import PATH
from services.chassis.context import Caller, bind, limit_time
from services.chassis.error_status import DETAILS_KEY, is_too_large
from services.chassis.grpc_channel import REPLAYED, identity
from services.gateway.upstream.rpcs import Upstreams

MAX_CALLS = 50
# Of a request that shares a message; a larger one has one of its own.
MAX_BYTES = 16 * 1024
# Of the answers that share a message: the rest of the calls is made alone, so that no service has to hold many large
# answers for one message.
ANSWER_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True, eq=False)
class PendingCall:
    """One call, unlike any other."""

    request: Message
    caller: Caller


@dataclass(frozen=True, slots=True)
class Answered:
    """A response, and whether an earlier call with the same idempotency key made it."""

    response: Any
    replayed: bool


Outcome = Answered | Exception


class CallBatcher:
    """Calls of one method. Without load a call never waits, and has a message of its own."""

    def __init__(
        self,
        upstreams: Upstreams,
        method: MethodDescriptor,
        max_timeout: float,
        *,
        reads: bool = False,
    ) -> None:
        """A message may take `max_timeout` seconds; each call stops waiting after its own timeout.

        Calls of a method that only `reads` are made again, alone, when their answers are too large for one message.
        """
        self._method = f"/{method.containing_service.full_name}/{method.name}"
        self._rpc = upstreams.rpc(method)
        self._together = upstreams.channel(method).unary_unary(
            PATH,
            request_serializer=calls_pb2.CallTogetherRequest.SerializeToString,
            response_deserializer=calls_pb2.CallTogetherResponse.FromString,
        )
        self._parse = GetMessageClass(method.output_type).FromString
        self._max_timeout = max_timeout
        self._reads = reads
        self._batcher: Batcher[PendingCall, Answered] = Batcher(
            self._call, max_in_flight=8, max_wait=0.002, max_items=MAX_CALLS
        )

    async def call(self, request: Message, caller: Caller, timeout: float) -> Answered:
        """The answer.

        Raises:
            grpc.aio.AioRpcError: the call fails, as one of its own would.
        """
        pending = PendingCall(request, caller)
        if request.ByteSize() > MAX_BYTES:
            return await self._call_one(pending, timeout)
        return await self._batcher.get(caller, pending, timeout)

    async def _call(self, calls: Sequence[PendingCall]) -> Mapping[PendingCall, Outcome]:
        if len(calls) == 1:
            return {calls[0]: await self._call_one(calls[0], self._max_timeout)}
        try:
            return await self._call_together(calls)
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.UNIMPLEMENTED or self._goes_alone(error):  # by an older service
                return {}
            raise

    def _goes_alone(self, outcome: Outcome) -> bool:
        """Whether a call that only reads is to be made again, alone."""
        return self._reads and isinstance(outcome, Exception) and is_too_large(outcome)

    async def _call_together(self, calls: Sequence[PendingCall]) -> Mapping[PendingCall, Outcome]:
        message = calls_pb2.CallTogetherRequest(
            method=self._method,
            calls=[
                calls_pb2.Call(request=call.request.SerializeToString(), metadata=dict(identity(call.caller)))
                for call in calls
            ],
            answer_bytes=ANSWER_BYTES if self._reads else 0,
        )
        response = await self._together(message, timeout=self._max_timeout)
        outcomes = zip(calls, map(self._read, response.answers), strict=True)
        return {call: outcome for call, outcome in outcomes if not self._goes_alone(outcome)}

    def _read(self, answer: calls_pb2.Answer) -> Outcome:
        if answer.code:
            return _rpc_error(answer)
        return Answered(self._parse(answer.response), REPLAYED in answer.metadata.items())

    async def _call_one(self, call: PendingCall, timeout: float) -> Answered:
        with bind(call.caller), limit_time(timeout):
            started = self._rpc(call.request, timeout=timeout)
        response = await started
        has_key = call.caller.idempotency_key is not None
        return Answered(response, has_key and REPLAYED in tuple(await started.trailing_metadata() or ()))


def _rpc_error(answer: calls_pb2.Answer) -> grpc.aio.AioRpcError:
    code = next(code for code in grpc.StatusCode if code.value[0] == answer.code)
    details = grpc.aio.Metadata(*([(DETAILS_KEY, answer.details)] if answer.details else []))
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), details, details=answer.message)
