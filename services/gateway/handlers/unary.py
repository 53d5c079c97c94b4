"""RPCs with a single response: JSON, nothing, or a body as it is."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from aiohttp import web
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

from services.gateway.contract.operations import EMPTY, HTTP_BODY, Operation
from services.gateway.decoding.requests import Decoded
from services.gateway.encoders import ToJson
from services.gateway.handlers.invocations import Invocation
from services.gateway.handlers.request_reader import RequestReader
from services.gateway.http.authentication import check_scope
from services.gateway.http.json_responses import json_response
from services.gateway.http.representations import REVALIDATE, entity_tag
from services.gateway.http.request_context import REQUEST_CONTEXT, RequestContext
from services.gateway.page_turns import PageTurns, Render, RenderAs, T

_NAME = re.compile(r"\{(\w+)\}", re.ASCII)


class UnaryHandler:
    """Reads the request, invokes the operation, renders the response."""

    def __init__(
        self, reader: RequestReader, invoke: Invocation, render: Render, *, scope: str, turns: PageTurns | None
    ) -> None:
        """`scope` is what callers need, `turns` are those of a page that may be long."""
        self._reader = reader
        self._invoke = invoke
        self._render = render
        self._scope = scope
        self._turns = turns

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """The operation as a route, whose middlewares have authenticated the caller and checked the scope."""
        decoded = await self._reader.read(request)
        return await self._respond(decoded, request[REQUEST_CONTEXT], self._render)

    async def call(self, request: web.Request, parameters: Mapping[str, str], render: RenderAs[T]) -> T:
        """The operation as a part of another request, such as that of a page, which has been authenticated and counted.

        See `read_parameters`.

        Raises:
            PermissionDenied: the caller lacks the scope; and what `handle` raises.
        """
        request_context = request[REQUEST_CONTEXT]
        check_scope(self._scope, request_context.caller.scopes)
        decoded = self._reader.read_parameters(parameters, request.match_info)
        return await self._respond(decoded, request_context, render)

    async def _respond(self, decoded: Decoded, request_context: RequestContext, render: RenderAs[T]) -> T:
        timeout = self._reader.timeout(decoded, request_context)
        with self._reader.call_scope(request_context, timeout):
            call = partial(self._invoke, decoded.message, request_context, timeout)
            if self._turns is None:
                return await render(await call())
            return await self._turns.respond(request_context.caller.org_id, call, render)


def renderer(operation: Operation, make_encoder: Callable[[Descriptor], ToJson]) -> Render:
    """How responses of this operation are sent."""
    if operation.output.full_name == EMPTY:
        return _empty_response
    if operation.output.full_name == HTTP_BODY:
        return partial(_body_response, status=operation.status)
    return _json_renderer(operation, make_encoder(operation.output))


def _json_renderer(operation: Operation, encode: ToJson) -> Render:
    status, location, is_tagged = operation.status, operation.location, operation.is_tagged

    async def render(message: Message) -> web.StreamResponse:
        body = await encode(message)
        response = json_response(body, status, etag=entity_tag(body, message) if is_tagged else "")
        if location:
            response.headers["Location"] = _NAME.sub(lambda name: str(getattr(message, name[1])), location)
        return response

    return render


async def _empty_response(_: Any) -> web.Response:
    return web.Response(status=204)


async def _body_response(body: Any, *, status: int) -> web.Response:
    """A google.api.HttpBody as it is."""
    content_type = body.content_type or "application/octet-stream"
    headers = {"Content-Type": content_type, "ETag": entity_tag(body.data, body), "Cache-Control": REVALIDATE}
    return web.Response(status=status, body=body.data, headers=headers)
