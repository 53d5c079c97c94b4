"""Reads request bodies: bounded in size and in time."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from urllib.parse import parse_qsl

from aiohttp import HttpVersion11, hdrs, web

from services.chassis.limit_refusals import refusals
from services.gateway.http.json_responses import HttpError

JSON_TYPE, FORM_TYPE = "application/json", "application/x-www-form-urlencoded"
MAX_FORM_FIELDS = 20
ORGANISATION_BYTES = 32 * 1024 * 1024
PROCESS_BYTES = 128 * 1024 * 1024
LIMIT = "body_bytes"
RETRY_AFTER = {"Retry-After": "1"}


class BodyMemory:
    """The bytes of the bodies that are being received, of each organisation and of all."""

    def __init__(self, organisation_bytes: int = ORGANISATION_BYTES, process_bytes: int = PROCESS_BYTES) -> None:
        self._organisation_bytes = organisation_bytes
        self._process_bytes = process_bytes
        self._of: Counter[str] = Counter()
        self._all = 0

    def take(self, org_id: str, size: int) -> None:
        """Count bytes that have arrived.

        Raises:
            HttpError: they are too many (429 or 503).
        """
        if self._of[org_id] + size > self._organisation_bytes:
            refusals.labels(LIMIT).inc()
            message = (
                f"The bodies that your organisation sends now have over {self._organisation_bytes} bytes: send fewer"
            )
            raise HttpError(429, f"{message} at once", "TOO_MANY_BODIES", headers=RETRY_AFTER, close=True)
        if self._all + size > self._process_bytes:
            refusals.labels(LIMIT).inc()
            message = "Too many bodies are being received: try again"
            raise HttpError(503, message, "TOO_MANY_BODIES", headers=RETRY_AFTER, close=True)
        self._of[org_id] += size
        self._all += size

    def give(self, org_id: str, size: int) -> None:
        self._all -= size
        self._of[org_id] -= size
        if not self._of[org_id]:
            del self._of[org_id]


async def read_json(
    request: web.BaseRequest, max_bytes: int, seconds: float, *, memory: BodyMemory, org_id: str
) -> bytes:
    """The body of a request that may have JSON, empty without one.

    Raises:
        HttpError: it cannot be read (400, 408, 413, 415, 429 or 503).
    """
    if not request.body_exists:
        return b""
    if not _is_json(request) and request.content_length != 0:
        raise HttpError(415, f"Send the body as {JSON_TYPE}", "CONTENT_TYPE_UNSUPPORTED")
    return await _read(request, max_bytes, seconds, memory, org_id)


async def read_form(
    request: web.BaseRequest, max_bytes: int, seconds: float, *, memory: BodyMemory, org_id: str
) -> Mapping[str, str]:
    """The fields of a form that the browser sends itself.

    Raises:
        HttpError: as of `read_json`.
    """
    if request.content_type != FORM_TYPE:
        raise HttpError(415, f"Send the body as {FORM_TYPE}", "CONTENT_TYPE_UNSUPPORTED")
    body = await _read(request, max_bytes, seconds, memory, org_id)
    try:
        return dict(parse_qsl(body.decode(errors="replace"), keep_blank_values=True, max_num_fields=MAX_FORM_FIELDS))
    except ValueError:
        raise HttpError(400, f"The form has more than {MAX_FORM_FIELDS} fields", "FORM_MALFORMED") from None


async def _read(request: web.BaseRequest, max_bytes: int, seconds: float, memory: BodyMemory, org_id: str) -> bytes:
    check_encoding(request)
    check_length(request, max_bytes)
    await send_100_continue(request)
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.content.iter_any():
                if len(body) + len(chunk) > max_bytes:
                    raise body_too_large(max_bytes)
                memory.take(org_id, len(chunk))
                body += chunk
    except TimeoutError:
        raise body_too_slow(seconds) from None
    except web.RequestPayloadError:
        raise broken_body() from None
    finally:
        memory.give(org_id, len(body))
    return bytes(body)


def body_too_large(limit: int) -> HttpError:
    return HttpError(413, f"The body is larger than {limit} bytes", "BODY_TOO_LARGE", close=True)


def body_too_slow(seconds: float) -> HttpError:
    return HttpError(408, f"The body did not arrive within {seconds:g} s", "BODY_TOO_SLOW", close=True)


def upload_too_slow(bytes_per_second: int) -> HttpError:
    message = f"The upload is slower than {bytes_per_second} bytes per second: send it over a faster connection"
    return HttpError(408, message, "BODY_TOO_SLOW", close=True)


def broken_body() -> HttpError:
    return HttpError(400, "The body ends before it is complete or is not valid HTTP", "BODY_BROKEN", close=True)


def check_encoding(request: web.BaseRequest) -> None:
    """Reject a compressed body: its size does not bound what it expands to."""
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        message = "Send the body without a Content-Encoding"
        raise HttpError(415, message, "CONTENT_ENCODING_UNSUPPORTED", close=True)


def check_transfer_encoding(request: web.BaseRequest) -> None:
    """Reject codings besides chunked: aiohttp would pass the encoded bytes on as the body."""
    coding = request.headers.get(hdrs.TRANSFER_ENCODING, "chunked")
    if coding.strip().lower() != "chunked":
        message = "The only supported Transfer-Encoding is chunked"
        raise HttpError(501, message, "TRANSFER_ENCODING_UNSUPPORTED", close=True)


def check_length(request: web.BaseRequest, max_bytes: int) -> None:
    """Reject a body that is declared too large before reading it."""
    if request.content_length is not None and request.content_length > max_bytes:
        raise body_too_large(max_bytes)


async def send_100_continue(request: web.BaseRequest) -> None:
    """Let a client that sent Expect: 100-continue send its body: the headers are acceptable."""
    if request.version >= HttpVersion11 and request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # the final response has not begun


def _is_json(request: web.BaseRequest) -> bool:
    """A missing content type counts as JSON."""
    content_type = request.content_type
    if content_type == JSON_TYPE or hdrs.CONTENT_TYPE not in request.headers:
        return True
    return content_type.startswith("application/") and content_type.endswith("+json")
