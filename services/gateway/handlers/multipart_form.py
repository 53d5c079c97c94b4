"""Multipart forms with files, read as a stream."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from aiohttp import content_disposition_filename, hdrs, parse_content_disposition, web
from aiohttp.helpers import parse_mimetype
from aiohttp.http import HeadersParser, HttpProcessingError

from services.gateway.decoding.validation_errors import FieldError, InvalidRequest, known_error
from services.gateway.handlers.upload_reader import UploadReader, accept_upload
from services.gateway.http import request_body
from services.gateway.http.json_responses import HttpError
from services.gateway.settings import Settings

FILE = "file"
# What may be sent as a file too, because it is long: `curl -F metadata=@build.json`.
FIELDS = frozenset(("version", "metadata", "package_name", "version_suffix"))
FORM_TYPE = "multipart/form-data"
MAX_FIELDS = 100
# Of a line of the header of a part, or before the first part.
MAX_LINE_BYTES = 8192
# Of the header of a part, or before the first part.
MAX_LINES = 128
# Of boundaries and headers, besides the files and the fields.
MAX_FRAME_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class FormPart:
    """What the header of a part says: the name of the field, and that of the file if it is one; valid text."""

    name: str
    filename: str | None


class MultipartForm:
    """The parts of a form in the order in which they arrive; `fields` has those that have been read."""

    def __init__(self, upload: UploadReader, boundary: bytes) -> None:
        self.fields: dict[str, str] = {}
        self._max_part_bytes = upload.settings.max_upload_bytes
        self._max_fields_bytes = upload.settings.max_body_bytes
        self._events = _parse(upload.chunks(), b"--" + boundary)
        self._fields_read = self._fields_bytes = 0

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
        self._fields_read += 1
        if self._fields_read > MAX_FIELDS:
            raise HttpError(413, f"The form has more than {MAX_FIELDS} fields", "BODY_TOO_LARGE", close=True)
        async for chunk in self.chunks():
            content += chunk
            self._fields_bytes += len(chunk)
            if self._fields_bytes > self._max_fields_bytes:
                raise request_body.body_too_large(self._max_fields_bytes)
        try:
            self.fields[name] = content.decode()
        except UnicodeDecodeError:
            raise InvalidRequest([known_error(("body", name), "string_unicode")]) from None


async def open_form(request: web.BaseRequest, settings: Settings) -> MultipartForm:
    """The form in a multipart request.

    Raises:
        HttpError: for what the headers say (400, 413 or 415).
    """
    upload = await accept_upload(request, settings, more_bytes=settings.max_body_bytes + MAX_FRAME_BYTES)
    boundary = parse_mimetype(request.headers[hdrs.CONTENT_TYPE]).parameters.get("boundary")
    if not boundary:
        raise _invalid_form("its Content-Type names no boundary")
    return MultipartForm(upload, boundary.encode(errors="surrogateescape"))


class _Body:
    """A body that is read up to delimiters; what arrives in between is passed on without a copy."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._buffer = b""
        self._position = 0
        self._has_ended = False

    async def read_until(self, delimiter: bytes) -> AsyncIterator[bytes]:
        """The bytes before the delimiter, which is read too. HttpError: there is none."""
        while (end := self._buffer.find(delimiter, self._position)) < 0:
            end = self._partial_delimiter(delimiter)
            if end > self._position:
                yield self._buffer[self._position : end]
            self._buffer, self._position = self._buffer[end:] + await self._receive(), 0
        if end > self._position:
            yield self._buffer[self._position : end]
        self._position = end + len(delimiter)

    async def read_line(self) -> bytes:
        """The next line without its end. HttpError: there is none, or it is too long."""
        line = b""
        async for chunk in self.read_until(b"\n"):
            line += chunk
            if len(line) > MAX_LINE_BYTES:
                raise _invalid_form(f"a line of its headers or boundaries is longer than {MAX_LINE_BYTES} bytes")
        return line

    async def discard(self) -> None:
        """Read what is left, which counts towards the size of the body."""
        async for _ in self._chunks:
            pass

    def _partial_delimiter(self, delimiter: bytes) -> int:
        """Where the delimiter may begin that has not arrived wholly; its first byte occurs in it once."""
        begin = self._buffer.rfind(delimiter[:1], max(self._position, len(self._buffer) - len(delimiter) + 1))
        return begin if begin >= 0 and delimiter.startswith(self._buffer[begin:]) else len(self._buffer)

    async def _receive(self) -> bytes:
        """What has arrived; at the end of the body the end of a line, which a final boundary may lack."""
        if self._has_ended:
            raise _invalid_form("it ends before its final boundary")
        chunk = await anext(self._chunks, None)
        self._has_ended = chunk is None
        return chunk or b"\n"


async def _parse(chunks: AsyncIterator[bytes], boundary: bytes) -> AsyncIterator[FormPart | bytes | None]:
    """For each part its header, its bytes, and None. HttpError: the body is no form."""
    body, final = _Body(chunks), boundary + b"--"
    line, line_count = (await body.read_line()).rstrip(), 1
    while line not in (boundary, final):
        if line_count >= MAX_LINES:
            raise _invalid_form("it does not begin with the boundary that its Content-Type names")
        line, line_count = (await body.read_line()).rstrip(), line_count + 1
    while line == boundary:
        yield await _read_header(body)
        async for chunk in body.read_until(b"\r\n" + boundary):
            yield chunk
        yield None
        line = boundary + (await body.read_line()).rstrip()
    if line != final:
        raise _invalid_form("other text follows a boundary in its line")
    await body.discard()


async def _read_header(body: _Body) -> FormPart:
    """HttpError: it cannot be read."""
    lines = list[bytes]()
    while (line := await body.read_line()) != b"\r":
        if len(lines) >= MAX_LINES:
            raise _invalid_form(f"the header of a part has more than {MAX_LINES} lines")
        if not line.endswith(b"\r"):
            raise _invalid_form("a line in the header of a part has no CRLF at its end")
        lines.append(line[:-1])
    try:
        headers, _ = HeadersParser().parse_headers([*lines, b""])
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
