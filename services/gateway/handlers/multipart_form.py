"""Multipart forms with files, read as a stream."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from aiohttp import BodyPartReader, MultipartReader, web

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


@dataclass(slots=True)
class MultipartForm:
    """The parts of a form in the order in which they arrive; `fields` has those that have been read."""

    reader: MultipartReader
    upload: UploadReader
    fields: dict[str, str] = field(default_factory=dict)
    _fields_read: int = 0
    _fields_bytes: int = 0

    async def next_file(self) -> BodyPartReader | None:
        """Read fields up to the next file; None at the end of the form."""
        while (part := await self.next_part()) is not None:
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

    def chunks(self, part: BodyPartReader) -> AsyncIterator[bytes]:
        """The content of a part; HttpError when it is too large or too slow."""
        return self.upload.chunks(part)

    async def _read_field(self, part: BodyPartReader) -> None:
        content, name = bytearray(), (part.name or "").encode(errors="replace").decode()
        self._fields_read += 1
        if self._fields_read > MAX_FIELDS:
            raise HttpError(413, f"The form has more than {MAX_FIELDS} fields", "BODY_TOO_LARGE", close=True)
        async for chunk in self.chunks(part):
            content += chunk
            self._fields_bytes += len(chunk)
            if self._fields_bytes > self.upload.settings.max_body_bytes:
                raise request_body.body_too_large(self.upload.settings.max_body_bytes)
        try:
            self.fields[name] = content.decode()
        except UnicodeDecodeError:
            raise InvalidRequest([known_error(("body", name), "string_unicode")]) from None

    async def next_part(self) -> BodyPartReader | None:
        """The next part, whatever it is; None at the end of the form."""
        with self.upload.map_errors():
            part = await self.upload.receive(self.reader.next())
            if isinstance(part, BodyPartReader):
                _ = part.name, part.filename  # aiohttp parses them on first use, and raises ValueError for broken ones
        if isinstance(part, MultipartReader):
            raise request_body.broken_body()
        return part


def _wrong_file_field(name: str | None) -> InvalidRequest:
    shown = (name or "").encode(errors="replace").decode()
    message = f"Send the artifact in the field '{FILE}', not '{shown}'"
    return InvalidRequest([FieldError(("body", shown), message, "wrong_file_field")])


async def open_form(request: web.BaseRequest, settings: Settings) -> MultipartForm:
    """The form in a multipart request; HttpError 400, 413 or 415 for what the headers say."""
    await accept_upload(request, settings)
    try:
        return MultipartForm(await request.multipart(), UploadReader(settings))
    except (ValueError, AssertionError):
        raise request_body.broken_body() from None
