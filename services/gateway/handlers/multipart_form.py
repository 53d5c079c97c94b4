"""Multipart forms with one file, read as a stream."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import TypeVar

from aiohttp import BodyPartReader, MultipartReader, web
from aiohttp.http_exceptions import HttpProcessingError

from services.gateway.decoding.validation_errors import FieldError, InvalidRequest, known_error
from services.gateway.http import request_body
from services.gateway.http.json_responses import HttpError
from services.gateway.settings import Settings

FILE = "file"
FIELDS = frozenset(("version", "metadata", "package_name"))
"""What may be sent as a file too, because it is long: `curl -F metadata=@build.json`."""
FORM_TYPE = "multipart/form-data"
CHUNK_BYTES = 256 * 1024
MAX_FIELDS = 100

T = TypeVar("T")


@dataclass(slots=True)
class MultipartForm:
    """The parts of a form in the order in which they arrive; `fields` has those that have been read."""

    reader: MultipartReader
    settings: Settings
    clock: Callable[[], float] = monotonic
    fields: dict[str, str] = field(default_factory=dict)
    _fields_read: int = 0
    _fields_bytes: int = 0
    _received_bytes: int = 0
    _waited_seconds: float = 0.0
    """For the client only: a slow consumer does not make the client slow."""

    async def next_file(self) -> BodyPartReader | None:
        """Read fields up to the next file; None at the end of the form."""
        while (part := await self._next_part()) is not None:
            if part.name == FILE:
                return part
            if part.filename is not None and part.name not in FIELDS:
                raise _wrong_file_field(part.name)
            await self._read_field(part)
        return None

    async def finish(self) -> None:
        """Read the fields after the file; InvalidRequest when there is another file."""
        if await self.next_file() is not None:
            raise InvalidRequest([FieldError(("body", FILE), "Only one file can be uploaded at a time", "too_long")])

    async def chunks(self, part: BodyPartReader) -> AsyncIterator[bytes]:
        """The content of a part; HttpError when it is too large or too slow."""
        size = 0
        while not part.at_eof():
            with self._map_errors():
                chunk = await self._receive(part.read_chunk(CHUNK_BYTES))
            self._check_rate(len(chunk))
            size += len(chunk)
            if size > self.settings.max_upload_bytes:
                raise request_body.body_too_large(self.settings.max_upload_bytes)
            if chunk:
                yield chunk

    async def _read_field(self, part: BodyPartReader) -> None:
        content, name = bytearray(), (part.name or "").encode(errors="replace").decode()
        self._fields_read += 1
        if self._fields_read > MAX_FIELDS:
            raise HttpError(413, f"The form has more than {MAX_FIELDS} fields", "BODY_TOO_LARGE", close=True)
        async for chunk in self.chunks(part):
            content += chunk
            self._fields_bytes += len(chunk)
            if self._fields_bytes > self.settings.max_body_bytes:
                raise request_body.body_too_large(self.settings.max_body_bytes)
        try:
            self.fields[name] = content.decode()
        except UnicodeDecodeError:
            raise InvalidRequest([known_error(("body", name), "string_unicode")]) from None

    async def _next_part(self) -> BodyPartReader | None:
        with self._map_errors():
            part = await self._receive(self.reader.next())
            if isinstance(part, BodyPartReader):
                _ = part.name, part.filename  # aiohttp parses them on first use, and raises ValueError for broken ones
        if isinstance(part, MultipartReader):
            raise request_body.broken_body()
        return part

    async def _receive(self, reading: Awaitable[T]) -> T:
        began = self.clock()
        async with asyncio.timeout(self.settings.idle_timeout_seconds):
            received = await reading
        self._waited_seconds += self.clock() - began
        return received

    def _check_rate(self, size: int) -> None:
        """Count bytes that have arrived; HttpError 408 when they are few for the time that they took."""
        self._received_bytes += size
        settings = self.settings
        expected = (self._waited_seconds - settings.idle_timeout_seconds) * settings.min_upload_bytes_per_second
        if self._received_bytes < expected:
            raise request_body.upload_too_slow(settings.min_upload_bytes_per_second)

    @contextmanager
    def _map_errors(self) -> Iterator[None]:
        """Inside the block, what aiohttp raises while reading becomes an HttpError."""
        try:
            yield
        except TimeoutError:
            raise request_body.body_too_slow(self.settings.idle_timeout_seconds) from None
        except (ValueError, AssertionError, HttpProcessingError, web.HTTPException, web.RequestPayloadError):
            raise request_body.broken_body() from None


def _wrong_file_field(name: str | None) -> InvalidRequest:
    shown = (name or "").encode(errors="replace").decode()
    message = f"Send the artifact in the field '{FILE}', not '{shown}'"
    return InvalidRequest([FieldError(("body", shown), message, "wrong_file_field")])


async def open_form(request: web.BaseRequest, settings: Settings) -> MultipartForm:
    """The form in a multipart request; HttpError 400, 413 or 415 for what the headers say."""
    request_body.check_encoding(request)
    request_body.check_length(request, settings.max_upload_bytes)
    await request_body.send_100_continue(request)
    try:
        return MultipartForm(await request.multipart(), settings)
    except (ValueError, AssertionError):
        raise request_body.broken_body() from None
