"""Reads resources of the REST interface in the same process, for a page and as the caller of the page."""

from collections.abc import Awaitable, Mapping
from typing import Any

import orjson
from aiohttp import hdrs, web
from yarl import URL

from services.gateway.http.representations import ETAG
from services.gateway.http.session_cookie import FORWARDED_PROTO

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
    return orjson.loads(_body(await _respond(request, path, query), path))


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


async def _respond(request: web.Request, path: str, query: Mapping[str, Any]) -> web.StreamResponse:
    return await request.app._handle(_subrequest(request, path, query))


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
