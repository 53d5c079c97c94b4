"""RPCs with one answer: JSON, nothing at all, or a body as it is."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from aiohttp.web import Response, StreamResponse
from google.protobuf.message import Message

from services.chassis import context
from services.chassis.context import Caller
from services.chassis.request_interceptor import REPLAYED
from services.gateway.contract.operations import EMPTY, HTTP_BODY, Operation
from services.gateway.encoding.responses import ToJson
from services.gateway.handlers.invocation import Invocation
from services.gateway.http.request_context import RequestContext
from services.gateway.http.responses import empty_response, json_response
from services.gateway.upstream.batch_reader import BatchReader
from services.gateway.upstream.batcher import Batcher
from services.gateway.upstream.channels import Rpc


class CallContext(Protocol):
    """Who asks, and the headers that the answer will have; an exchange, or one question for many of them."""

    @property
    def caller(self) -> Caller: ...

    @property
    def headers(self) -> dict[str, str]: ...


Invoke = Callable[[Any, CallContext, float], Awaitable[Any]]
"""(request message, asking, seconds) -> response message"""

Render = Callable[[Any, RequestContext], StreamResponse]

_NAME = re.compile(r"\{(\w+)\}")


class UnaryHandler:
    """Decodes, invokes, renders."""

    def __init__(self, invocation: Invocation, invoke: Invoke, render: Render) -> None:
        self._invocation = invocation
        self._invoke = invoke
        self._render = render

    async def __call__(self, exchange: RequestContext) -> StreamResponse:
        decoded = await self._invocation.decode(exchange)
        seconds = self._invocation.seconds(decoded, exchange)
        with self._invocation.calling(decoded, exchange, seconds):
            answer = await self._invoke(decoded.message, exchange, seconds)
        return self._render(answer, exchange)


def call_rpc(rpc: Rpc) -> Invoke:
    """Invokes the RPC itself."""

    async def invoke(request: Message, asking: CallContext, seconds: float) -> Any:
        call = rpc(request, timeout=seconds)
        answer = await call
        if asking.caller.idempotency_key is not None and REPLAYED in tuple(await call.trailing_metadata() or ()):
            asking.headers["Idempotent-Replayed"] = "true"
        return answer

    return invoke


def renderer(operation: Operation, to_json: Callable[[], ToJson]) -> Render:
    """How answers of this operation go out."""
    if operation.output.full_name == EMPTY:
        return lambda _, exchange: empty_response(exchange.headers)
    if operation.output.full_name == HTTP_BODY:
        return lambda body, exchange: http_body_response(body, exchange, operation.status)
    return _json_renderer(operation, to_json())


def _json_renderer(operation: Operation, encode: ToJson) -> Render:
    status, location = operation.status, operation.location

    def render(answer: Message, exchange: RequestContext) -> StreamResponse:
        if location:
            exchange.headers["Location"] = _NAME.sub(lambda found: str(getattr(answer, found[1])), location)
        return json_response(status, encode(answer), exchange.headers)

    return render


def http_body_response(body: Any, exchange: RequestContext, status: int = 200) -> StreamResponse:
    """A google.api.HttpBody as it is."""
    headers = {**exchange.headers, "Content-Type": body.content_type or "application/octet-stream"}
    return Response(status=status, body=body.data, headers=headers)


def by_id(things: BatchReader, id_field: str) -> Invoke:
    """A Get by the one id in its request."""

    async def invoke(request: Any, asking: CallContext, seconds: float) -> Any:
        return await things.get(asking.caller, getattr(request, id_field), seconds)

    return invoke


def long_poll_or_batch(at_once: Invoke, waiting: Invoke) -> Invoke:
    """A Get that may be a long poll: then it is a call of its own."""

    async def invoke(request: Any, asking: CallContext, seconds: float) -> Any:
        chosen = waiting if request.wait else at_once
        return await chosen(request, asking, seconds)

    return invoke


@dataclass(frozen=True, slots=True)
class _CoalescedContext:
    """The first who asks, and the headers of the common answer."""

    caller: Caller
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _CoalescedResponse:
    """The JSON text, and headers that belong to it."""

    body: bytes
    headers: Mapping[str, str]


class CoalescedReadHandler:
    """A GET with a JSON answer. The question is the organisation and the bytes of the request message."""

    def __init__(self, invocation: Invocation, invoke: Invoke, encode: ToJson, max_seconds: float) -> None:
        """A call may take `most_seconds`; those who wait for it leave when their own time is up."""
        self._invocation = invocation
        self._invoke = invoke
        self._encode = encode
        self._most_seconds = max_seconds
        self._batches: Batcher[bytes, _CoalescedResponse] = Batcher(self._ask)

    async def __call__(self, exchange: RequestContext) -> StreamResponse:
        decoded = await self._invocation.decode(exchange)
        seconds = self._invocation.seconds(decoded, exchange)
        question = decoded.message.SerializeToString(deterministic=True)
        with self._invocation.calling(decoded, exchange, seconds):
            batch = self._batches.join(exchange.caller, (question,), question=question)
            answer = (await batch.results(seconds))[question]
        return json_response(200, answer.body, {**exchange.headers, **answer.headers})

    async def _ask(self, questions: Sequence[bytes]) -> Mapping[bytes, _CoalescedResponse]:
        """A batch has one question, because each question has its own lane."""
        (question,) = questions
        asking = _CoalescedContext(context.current())
        with context.limit_time(self._most_seconds):
            message = await self._invoke(self._invocation.message(question), asking, self._most_seconds)
        return {question: _CoalescedResponse(self._encode(message), asking.headers)}
