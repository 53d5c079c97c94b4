"""Reads resources of the REST interface in the same process, for a page and as the caller of the page."""

from collections.abc import Awaitable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import orjson
from aiohttp import hdrs, web
from yarl import URL

from services.chassis.context import Caller, bind
from services.chassis.turns import list_in_turns
from services.gateway.encoding import is_texts
from services.gateway.handlers.unary import PARTS, READ_HERE
from services.gateway.http.representations import ETAG
from services.gateway.http.request_context import REQUEST_CONTEXT
from services.gateway.http.session_cookie import FORWARDED_PROTO

_ANYBODY = Caller("")
_FORWARDED = (hdrs.COOKIE, hdrs.AUTHORIZATION, FORWARDED_PROTO)


class RestError(Exception):
    """The REST interface refused: its status, its message, and its code for programs."""

    def __init__(self, status: int, message: str, code: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code


async def read(request: web.Request, path: str, **query: Any) -> Any:
    """The JSON of a resource ("apps/7", below /api/v1); parameters that are None are left out. RestError.

    The call takes the same way as one from outside: authentication, limits, metrics and handlers.
    """
    parts = await read_parts(request, path, **query)
    with turns_of_caller(request):
        return {
            name: await list_in_turns(map(orjson.loads, value)) if is_texts(value) else value
            for name, value in parts.items()
        }


async def read_parts(request: web.Request, path: str, **query: Any) -> dict[str, Any]:
    """As `read`, with each item of a list as JSON: a page that shows few of them keeps less. RestError."""
    response = await _respond(request, path, query, read_here=True)
    if isinstance(response, web.Response) and PARTS in response:
        return response[PARTS]
    found: dict[str, Any] = orjson.loads(_body(response, path))
    return found


async def read_tagged(request: web.Request, path: str) -> tuple[Any, str]:
    """As `read`, with the ETag, which a change can send as If-Match."""
    response = await _respond(request, path, {})
    return orjson.loads(_body(response, path)), response.headers.get(ETAG, "")


async def read_part(name: str, reading: Awaitable[Any]) -> Mapping[str, Any]:
    """A part without which a page is still of use: `name`, None if it was refused, and `name_refusal`. RestError:
    nobody has signed in.
    """
    try:
        return {name: await reading, f"{name}_refusal": None}
    except RestError as refusal:
        if refusal.status == 401:
            raise
        return {name: None, f"{name}_refusal": refusal}


def turns_of_caller(request: web.Request) -> AbstractContextManager[Caller]:
    """Inside the block, long loops have the turns of the organisation whose resources were read for a page."""
    context = request.get(REQUEST_CONTEXT)
    return bind(context.caller if context is not None else _ANYBODY)


async def _respond(
    request: web.Request, path: str, query: Mapping[str, Any], *, read_here: bool = False
) -> web.StreamResponse:
    subrequest = _subrequest(request, path, query)
    subrequest[READ_HERE] = read_here
    response = await request.app._handle(subrequest)
    if REQUEST_CONTEXT in subrequest:
        request[REQUEST_CONTEXT].caller = subrequest[REQUEST_CONTEXT].caller
    return response


def _body(response: web.StreamResponse, path: str) -> bytes:
    """The body of a success. RestError."""
    if not isinstance(response, web.Response) or not isinstance(response.body, bytes):
        raise TypeError(f"{path} is not a resource")
    if response.status >= 400:
        document = orjson.loads(response.body)
        raise RestError(response.status, _sentence(document["detail"]), document.get("code", ""))
    return response.body


def _subrequest(request: web.Request, path: str, query: Mapping[str, Any]) -> web.Request:
    given = {name: str(value) for name, value in query.items() if value is not None}
    headers = {name: _text(request.headers[name]) for name in _FORWARDED if name in request.headers}
    url = URL(f"/api/v1/{path}", encoded=True).update_query(given)
    return request.clone(method=hdrs.METH_GET, rel_url=url, headers=headers)


def _text(header: str) -> str:
    """A header in which bytes that are no text are replaced: no cookie or key of ours has such bytes."""
    return header.encode(errors="surrogateescape").decode(errors="replace")


def _sentence(detail: Any) -> str:
    """The message of an error, which is a list for a request that is not valid."""
    return detail if isinstance(detail, str) else "; ".join(str(issue["msg"]) for issue in detail)
