"""RPCs with one answer: JSON, nothing at all, or a body as it is."""

import re
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from aiohttp.web import Response, StreamResponse
from google.protobuf.message import Message

from services.chassis.context import Caller
from services.chassis.request_interceptor import REPLAYED
from services.gateway.contract.operations import EMPTY, HTTP_BODY, Operation
from services.gateway.encoding.responses import ToJson
from services.gateway.handlers.invocation import Invocation
from services.gateway.serving.exchange import Exchange
from services.gateway.serving.responses import empty_response, json_response
from services.gateway.upstream.calls import Rpc


class Asking(Protocol):
    """Who asks, and the headers that the answer will have; an exchange, or one question for many of them."""

    @property
    def caller(self) -> Caller: ...

    @property
    def headers(self) -> dict[str, str]: ...


Invoke = Callable[[Any, Asking, float], Awaitable[Any]]
"""(request message, asking, seconds) -> response message"""

Render = Callable[[Any, Exchange], StreamResponse]

_NAME = re.compile(r"\{(\w+)\}")


class UnaryHandler:
    """Decodes, invokes, renders."""

    def __init__(self, invocation: Invocation, invoke: Invoke, render: Render) -> None:
        self._invocation = invocation
        self._invoke = invoke
        self._render = render

    async def __call__(self, exchange: Exchange) -> StreamResponse:
        decoded = await self._invocation.decode(exchange)
        seconds = self._invocation.seconds(decoded, exchange)
        with self._invocation.calling(decoded, exchange, seconds):
            answer = await self._invoke(decoded.message, exchange, seconds)
        return self._render(answer, exchange)


def direct(rpc: Rpc) -> Invoke:
    """Invokes the RPC itself."""

    async def invoke(request: Message, asking: Asking, seconds: float) -> Any:
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
        return lambda body, exchange: raw(body, exchange, operation.status)
    return _json_renderer(operation, to_json())


def _json_renderer(operation: Operation, encode: ToJson) -> Render:
    status, location = operation.status, operation.location

    def render(answer: Message, exchange: Exchange) -> StreamResponse:
        if location:
            exchange.headers["Location"] = _NAME.sub(lambda found: str(getattr(answer, found[1])), location)
        return json_response(status, encode(answer), exchange.headers)

    return render


def raw(body: Any, exchange: Exchange, status: int = 200) -> StreamResponse:
    """A google.api.HttpBody as it is."""
    headers = {**exchange.headers, "Content-Type": body.content_type or "application/octet-stream"}
    return Response(status=status, body=body.data, headers=headers)
