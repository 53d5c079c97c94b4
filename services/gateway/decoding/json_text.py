"""The text of a JSON body."""

import orjson

from services.gateway.decoding.issues import MalformedBody


def parse(body: bytes) -> object:
    """The value in a body; an empty one means {}. MalformedBody says where the text stops being JSON.

    orjson bounds the depth (1,024) and refuses lone surrogates and numbers that are infinite.
    """
    if not body or body.isspace():
        return {}
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise MalformedBody(f"The body is not valid JSON: {error.msg} at {place}") from None
