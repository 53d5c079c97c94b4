"""Multipart forms with files, read as a stream."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from aiohttp import content_disposition_filename, hdrs, parse_content_disposition, web
from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header

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
# Of one line of the header of a part, and of its lines.
MAX_HEADER_BYTES = 8192
MAX_HEADERS = 128


@dataclass(frozen=True, slots=True)
class FormPart:
    """What the header of a part says: the name of the field, and that of the file if it is one; valid text."""

    name: str
    filename: str | None


class MultipartForm:
    """The parts of a form in the order in which they arrive; `fields` has those that have been read."""

    def __init__(self, upload: UploadReader, parser: PushMultipartParser) -> None:
        self.fields: dict[str, str] = {}
        self._max_fields_bytes = upload.settings.max_body_bytes
        self._events = _parse(upload, parser)
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
            if isinstance(event, MultipartSegment):
                return _read_header(event)
        return None

    async def chunks(self) -> AsyncIterator[bytes]:
        """The rest of the part that was read last. The errors of `UploadReader.chunks`."""
        async for event in self._events:
            if event is None:
                return
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
    upload = await accept_upload(request, settings)
    boundary = parse_options_header(request.headers[hdrs.CONTENT_TYPE])[1].get("boundary", "")
    try:
        parser = PushMultipartParser(
            boundary, max_header_size=MAX_HEADER_BYTES, max_header_count=MAX_HEADERS, header_charset="latin-1"
        )
    except ValueError:
        raise request_body.broken_body() from None
    return MultipartForm(upload, parser)


async def _parse(upload: UploadReader, parser: PushMultipartParser) -> AsyncIterator[MultipartSegment | bytes | None]:
    """For each part its header, its bytes, and None. The errors of `UploadReader.chunks`."""
    try:
        async for chunk in upload.chunks():
            for event in parser.parse(chunk):
                yield event
        parser.close()
    except MultipartError:
        raise request_body.broken_body() from None


def _read_header(segment: MultipartSegment) -> FormPart:
    """HttpError: it cannot be read."""
    header = segment[hdrs.CONTENT_DISPOSITION].encode("latin-1").decode(errors="surrogateescape")
    try:
        _, parameters = parse_content_disposition(header)
        name, filename = (content_disposition_filename(parameters, key) for key in ("name", "filename"))
    except ValueError:
        raise request_body.broken_body() from None
    return FormPart(_text(name or ""), None if filename is None else _text(filename))


def _text(name: str) -> str:
    """The name with a question mark in place of each byte that is not UTF-8."""
    return name.encode(errors="replace").decode()
