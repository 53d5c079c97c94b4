"""Reads the bodies of HTTP responses up to a limit."""

import aiohttp


class BodyTooLarge(Exception):
    """The body has more bytes than the limit; the rest was not read."""


async def read_body(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """The whole body, decompressed.

    Raises:
        BodyTooLarge: as soon as it exceeds `limit` bytes.
    """
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > limit:
            raise BodyTooLarge
    return bytes(body)
