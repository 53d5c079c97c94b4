"""Multipart forms with files, read as a stream."""

import asyncio
import warnings
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass

from aiohttp import content_disposition_filename, hdrs, parse_content_disposition, web
from aiohttp.helpers import parse_mimetype
from aiohttp.http import HeadersParser, HttpProcessingError
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser

from services.gateway.decoding.validation_errors import FieldError, InvalidRequest, known_error
from services.gateway.handlers.upload_reader import UploadReader, accept_upload
from services.gateway.http import request_body
from services.gateway.http.json_responses import HttpError
from services.gateway.settings import Settings

FILE = "file"
# What may be sent as a file too, because it is long: `curl -F metadata=@build.json`.
FIELDS = frozenset(("version", "metadata", "package_name", "version_suffix"))
FORM_TYPE = "multipart/form-data"
# The file and 100 fields.
MAX_PARTS = 101
# The parser takes no longer ones; RFC 2046 allows 70.
MAX_BOUNDARY_BYTES = 256
# Of a line of the header of a part.
MAX_LINE_BYTES = 8192
# Of the header of a part.
MAX_LINES = 128
# Of boundaries and headers, besides the files and the fields.
MAX_FRAME_BYTES = 1024 * 1024
# A packet with more boundaries is parsed in pieces, which take a few milliseconds each.
FEW_BOUNDARIES = 8
PIECE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class FormPart:
    """What the header of a part says: the name of the field, and that of the file if it is one; valid text."""

    name: str
    filename: str | None


class MultipartForm:
    """The parts of a form in the order in which they arrive; `fields` has those that have been read."""

    def __init__(self, upload: UploadReader, boundary: bytes, max_parts: int = MAX_PARTS) -> None:
        self.fields: dict[str, str] = {}
        self._max_part_bytes = upload.settings.max_upload_bytes
        self._max_fields_bytes = upload.settings.max_body_bytes
        self._events = _parse(upload.chunks(), _Parts(boundary, max_parts))
        self._fields_bytes = 0

    async def next_file(self) -> FormPart | None:
        """Read fields up to the next file; None at the end of the form."""
        while (part := await self.next_part()) is not None:
            if part.name == FILE:
                return part
            if part.filename is not None and part.name not in FIELDS:
                message = f"Send the artifact in the field '{FILE}', not '{part.name}'"
                raise InvalidRequest([FieldError(("body", part.name), message, "wrong_file_field")])
            await self._read_field(part.name)
        return None

    async def finish(self) -> None:
        """Read the fields after the file.

        Raises:
            InvalidRequest: there is another file.
        """
        if await self.next_file() is not None:
            raise InvalidRequest([FieldError(("body", FILE), "Only one file can be uploaded at a time", "too_long")])

    async def next_part(self) -> FormPart | None:
        """The next part, whatever it is; None at the end of the form.

        Raises:
            HttpError: the body is no form.
        """
        async for event in self._events:
            if isinstance(event, FormPart):
                return event
        return None

    async def chunks(self) -> AsyncIterator[bytes]:
        """The content of the part that was read last.

        Raises:
            HttpError: it is too large. And the errors of `UploadReader.chunks`.
        """
        size = 0
        async for event in self._events:
            if not isinstance(event, bytes):
                return
            size += len(event)
            if size > self._max_part_bytes:
                raise request_body.body_too_large(self._max_part_bytes)
            yield event

    async def _read_field(self, name: str) -> None:
        content = bytearray()
        async for chunk in self.chunks():
            content += chunk
            self._fields_bytes += len(chunk)
            if self._fields_bytes > self._max_fields_bytes:
                raise request_body.body_too_large(self._max_fields_bytes)
        try:
            self.fields[name] = content.decode()
        except UnicodeDecodeError:
            raise InvalidRequest([known_error(("body", name), "string_unicode")]) from None


async def open_form(request: web.BaseRequest, settings: Settings, *, max_parts: int = MAX_PARTS) -> MultipartForm:
    """The form in a multipart request, which may have so many parts.

    Raises:
        HttpError: for what the headers say (400, 413 or 415).
    """
    upload = await accept_upload(request, settings, more_bytes=settings.max_body_bytes + MAX_FRAME_BYTES)
    boundary = parse_mimetype(request.headers[hdrs.CONTENT_TYPE]).parameters.get("boundary")
    if not boundary:
        raise _invalid_form("its Content-Type names no boundary")
    encoded = boundary.encode(errors="surrogateescape")
    if len(encoded) > MAX_BOUNDARY_BYTES:
        raise _invalid_form(f"its boundary is longer than {MAX_BOUNDARY_BYTES} bytes")
    return MultipartForm(upload, encoded, max_parts)


class _Parts:
    """What a parser has read since it was last asked."""

    def __init__(self, boundary: bytes, max_parts: int) -> None:
        self._max_parts = max_parts
        self._delimiter = b"\r\n--" + boundary
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin,
                "on_header_field": self._add_name,
                "on_header_value": self._add_value,
                "on_header_end": self._end_line,
                "on_headers_finished": self._end_header,
                "on_part_data": self._add_content,
                "on_part_end": self._end,
                "on_end": self._finish,
            },
            max_header_count=MAX_LINES,
            max_header_size=MAX_LINE_BYTES,
        )
        self._events: list[FormPart | bytes | None] = []
        self._count = 0
        self._lines: list[bytes] = []
        self._name = self._value = b""
        self.is_whole = False

    def pieces(self, content: bytes) -> Iterator[bytes]:
        """What arrived at once, in parts that are to be read one after the other. HttpError: it has too many parts."""
        # A file full of its boundary, which no client sends, would take 400 times as long to parse.
        count = content.count(self._delimiter)
        if count > self._max_parts + 1:
            raise self._too_many()
        size = len(content) if count <= FEW_BOUNDARIES else PIECE_BYTES
        return (content[at : at + size] for at in range(0, len(content), size))

    def read(self, content: bytes) -> list[FormPart | bytes | None]:
        """FormParserError: it is no form. HttpError: it has too many parts, or the header of one cannot be read."""
        self._parser.write(content)
        events, self._events = self._events, []
        return events

    def _begin(self) -> None:
        self._count += 1
        if self._count > self._max_parts:
            raise self._too_many()
        self._lines = []

    def _add_name(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def _add_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_line(self) -> None:
        self._lines.append(self._name + b": " + self._value)
        self._name = self._value = b""

    def _end_header(self) -> None:
        self._events.append(_read_header(self._lines))

    def _add_content(self, data: bytes, start: int, end: int) -> None:
        self._events.append(data[start:end])

    def _end(self) -> None:
        self._events.append(None)

    def _finish(self) -> None:
        self.is_whole = True

    def _too_many(self) -> HttpError:
        return HttpError(413, f"The form has more than {self._max_parts} parts", "BODY_TOO_LARGE", close=True)


async def _parse(chunks: AsyncIterator[bytes], parts: _Parts) -> AsyncIterator[FormPart | bytes | None]:
    """For each part its header, its bytes, and None. HttpError: the body is no form."""
    try:
        async for chunk in chunks:
            for piece in parts.pieces(chunk):
                for event in parts.read(piece):
                    yield event
                await asyncio.sleep(0)  # others have their turn
    except FormParserError:
        raise _invalid_form(
            f"a boundary or the header of a part cannot be read, or has more than {MAX_LINES} lines or "
            f"{MAX_LINE_BYTES} bytes in a line"
        ) from None
    if not parts.is_whole:
        raise _invalid_form("it ends before its final boundary")


def _read_header(lines: Sequence[bytes]) -> FormPart:
    """HttpError: it cannot be read."""
    try:
        headers, _ = HeadersParser().parse_headers([*lines, b""])
        # aiohttp warns of each header that is not valid, and Python would keep every text of a warning for ever.
        with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
            _, parameters = parse_content_disposition(headers.get(hdrs.CONTENT_DISPOSITION))
        name, filename = (content_disposition_filename(parameters, key) for key in ("name", "filename"))
    except (HttpProcessingError, ValueError):
        raise _invalid_form("the header of a part cannot be read") from None
    if parse_mimetype(headers.get(hdrs.CONTENT_TYPE, "")).type == "multipart":
        raise _invalid_form("a part has parts itself")
    return FormPart(_text(name or ""), None if filename is None else _text(filename))


def _text(name: str) -> str:
    """The name with a question mark in place of each byte that is not UTF-8."""
    return name.encode(errors="replace").decode()


def _invalid_form(reason: str) -> HttpError:
    return HttpError(400, f"The body is not valid {FORM_TYPE}: {reason}", "BODY_BROKEN", close=True)
