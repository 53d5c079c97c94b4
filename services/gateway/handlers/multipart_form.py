"""Multipart forms with one file, read as a stream."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from aiohttp import BodyPartReader, MultipartReader, web
from aiohttp.http_exceptions import HttpProcessingError

from services.gateway.decoding import validation_errors
from services.gateway.decoding.validation_errors import InvalidRequest, Problem
from services.gateway.http import errors, request_body

FILE = "file"
FORM_TYPE = "multipart/form-data"
CHUNK_BYTES = 256 * 1024
MAX_FIELDS = 100
_ONE_FILE = Problem("too_long", "Only one file can be uploaded at a time")


@dataclass(frozen=True, slots=True)
class FormLimits:
    """Bytes of the whole form, bytes of all fields but the file, and seconds for each chunk to arrive."""

    max_bytes: int
    fields_bytes: int
    idle_seconds: float


@dataclass(slots=True)
class MultipartForm:
    """The parts of a form in the order in which they arrive; `fields` has those that have been read."""

    reader: MultipartReader
    limits: FormLimits
    fields: dict[str, str] = field(default_factory=dict)
    _fields_bytes: int = 0

    async def next_file(self) -> BodyPartReader | None:
        """Read fields up to the next file; None at the end of the form."""
        while (part := await self._next_part()) is not None:
            if part.name == FILE:
                return part
            await self._read_field(part)
        return None

    async def finish(self) -> None:
        """Read the fields after the file; InvalidRequest when there is another file."""
        if await self.next_file() is not None:
            raise InvalidRequest([_ONE_FILE.at(("body", FILE))])

    async def chunks(self, part: BodyPartReader) -> AsyncIterator[bytes]:
        """The content of a part; HttpError when it is too large or too slow."""
        size = 0
        while not part.at_eof():
            with self._map_errors():
                async with asyncio.timeout(self.limits.idle_seconds):
                    chunk = await part.read_chunk(CHUNK_BYTES)
            size += len(chunk)
            if size > self.limits.max_bytes:
                raise errors.body_too_large(self.limits.max_bytes)
            if chunk:
                yield chunk

    async def _read_field(self, part: BodyPartReader) -> None:
        content, name = bytearray(), (part.name or "").encode(errors="replace").decode()
        if len(self.fields) == MAX_FIELDS:
            raise errors.too_many_fields(MAX_FIELDS)
        async for chunk in self.chunks(part):
            content += chunk
            self._fields_bytes += len(chunk)
            if self._fields_bytes > self.limits.fields_bytes:
                raise errors.body_too_large(self.limits.fields_bytes)
        try:
            self.fields[name] = content.decode()
        except UnicodeDecodeError:
            raise InvalidRequest([validation_errors.NOT_UNICODE.at(("body", name))]) from None

    async def _next_part(self) -> BodyPartReader | None:
        with self._map_errors():
            async with asyncio.timeout(self.limits.idle_seconds):
                part = await self.reader.next()
            if isinstance(part, BodyPartReader):
                _ = part.name, part.filename  # aiohttp parses them on first use, and raises ValueError for broken ones
        if isinstance(part, MultipartReader):
            raise errors.broken_body()
        return part

    @contextmanager
    def _map_errors(self) -> Iterator[None]:
        """Inside the block, what aiohttp raises while reading becomes an HttpError."""
        try:
            yield
        except TimeoutError:
            raise errors.body_too_slow(self.limits.idle_seconds) from None
        except (ValueError, AssertionError, HttpProcessingError, web.HTTPException, web.RequestPayloadError):
            raise errors.broken_body() from None


async def open_form(request: web.BaseRequest, limits: FormLimits) -> MultipartForm:
    """The form in a multipart request; HttpError 400, 413 or 415 for what the headers say."""
    request_body.check_encoding(request)
    request_body.check_length(request, limits.max_bytes)
    await request_body.send_100_continue(request)
    try:
        return MultipartForm(await request.multipart(), limits)
    except (ValueError, AssertionError):
        raise errors.broken_body() from None
