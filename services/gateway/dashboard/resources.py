"""Reads what a page shows: calls operations of the REST interface as the caller of the page."""

from collections.abc import Awaitable, Mapping
from typing import Any

import orjson
from aiohttp import web
from google.protobuf.message import Message

from services.chassis.turns import list_in_turns
from services.gateway.dashboard.error_pages import PageUnknown
from services.gateway.encoders import is_texts, parts_encoder, text_encoder
from services.gateway.handlers.unary import UnaryHandler
from services.gateway.http.json_responses import HttpError, map_error
from services.gateway.http.representations import entity_tag
from services.gateway.http.request_context import REQUEST_ID
from services.gateway.page_turns import RenderAs, T

# The operations by name, such as "GetApp".
OPERATIONS = web.AppKey("operations", Mapping[str, UnaryHandler])


async def read(request: web.Request, operation: str, **parameters: Any) -> Any:
    """The JSON of a response. Parameters that are None are left out; those of the path that are missing are the ones of
    the page.

    Raises:
        HttpError: the request cannot be answered.
    """
    parts = await read_parts(request, operation, **parameters)
    return {
        name: await list_in_turns(map(orjson.loads, value)) if is_texts(value) else value
        for name, value in parts.items()
    }


async def read_parts(request: web.Request, operation: str, **parameters: Any) -> dict[str, Any]:
    """As `read`, with each item of a list as JSON: a page that shows few of them keeps less.

    Raises:
        HttpError: the request cannot be answered.
        PageUnknown: the list does not have the page that is wanted.
    """
    parts = await _call(request, operation, parameters, _encode_parts)
    last = max(1, parts.get("total_pages", 1))
    if parameters.get("page") and parts.get("page", 1) > last:
        raise PageUnknown(parts["page"], last)
    return parts


async def read_tagged(request: web.Request, operation: str, **parameters: Any) -> tuple[Any, str]:
    """As `read`, with the ETag, which a change can send as If-Match."""
    return await _call(request, operation, parameters, _encode_tagged)


async def read_part(name: str, reading: Awaitable[Any]) -> Mapping[str, Any]:
    """A part without which a page is still of use: `name`, None if it was refused, and `name_refusal`.

    Raises:
        HttpError: the key or session has ended.
    """
    try:
        return {name: await reading, f"{name}_refusal": None}
    except HttpError as refusal:
        if refusal.status == 401:
            raise
        return {name: None, f"{name}_refusal": refusal}


async def _call(request: web.Request, operation: str, parameters: Mapping[str, Any], render: RenderAs[T]) -> T:
    texts = {name: str(value) for name, value in parameters.items() if value is not None}
    try:
        return await request.app[OPERATIONS][operation].call(request, texts, render)
    except Exception as error:
        raise map_error(error, request[REQUEST_ID]) from None


async def _encode_parts(message: Message) -> dict[str, Any]:
    return await parts_encoder(message.DESCRIPTOR)(message)


async def _encode_tagged(message: Message) -> tuple[Any, str]:
    text = text_encoder(message.DESCRIPTOR)(message)
    return orjson.loads(text), entity_tag(text, message)
