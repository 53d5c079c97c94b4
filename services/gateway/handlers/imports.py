"""POST /api/v1/tests/import: a zip archive, or a form with the files of a folder, goes to ImportTests as a stream.

Files of a form are packed into an archive as they arrive, so that the catalog reads one format. Nothing is stored here
or compressed, and at most one chunk is kept.
"""

import zipfile
from collections.abc import AsyncIterator

from aiohttp import web

from services.gateway.decoding.validation_errors import FieldError, InvalidRequest, known_error
from services.gateway.handlers.multipart_form import FILE, FORM_TYPE, FormPart, MultipartForm, open_form
from services.gateway.handlers.uploads import read_body
from services.gateway.http.json_responses import HttpError
from services.gateway.settings import Settings

FILES = "files"
ZIP_TYPES = ("application/zip", "application/x-zip-compressed", "application/octet-stream")
FILES_LIMIT = 2_000


async def read_archive(request: web.Request, settings: Settings) -> AsyncIterator[bytes]:
    """The bytes of the archive that the request has, or that its files make."""
    if request.content_type == FORM_TYPE:
        return _read_form(await open_form(request, settings, max_parts=FILES_LIMIT + 1))
    if request.content_type not in ZIP_TYPES:
        message = f"Send the folder as {ZIP_TYPES[0]} or as {FORM_TYPE}"
        raise HttpError(415, message, "CONTENT_TYPE_UNSUPPORTED", close=True)
    return await read_body(request, settings)


async def _read_form(form: MultipartForm) -> AsyncIterator[bytes]:
    """The archive in the field `file`, or one of the files in the fields `files`."""
    part = await form.next_part()
    if part is None:
        raise InvalidRequest([known_error(("body", FILES), "missing")])
    if part.name == FILE:
        async for chunk in form.chunks():
            yield chunk
        await form.finish()
        return
    packed = ZipStream()
    while part is not None:
        async for chunk in packed.add(_path(part, packed.file_count), form.chunks()):
            yield chunk
        part = await form.next_part()
    yield packed.finish()


def _path(part: FormPart, count: int) -> str:
    """The path of a file in the folder: the name that the form gives it."""
    if part.name != FILES or not part.filename:
        message = f"Send the files of the folder in fields '{FILES}', each with its path as the file name"
        raise InvalidRequest([FieldError(("body", part.name), message, "wrong_file_field")])
    if count >= FILES_LIMIT:
        message = f"The folder has more than {FILES_LIMIT} files: send only the folder of the flows"
        raise InvalidRequest([FieldError(("body", FILES), message, "too_long")])
    return part.filename


class ZipStream:
    """An archive whose bytes are taken from it as soon as they are written."""

    def __init__(self) -> None:
        self._written = _Buffer()
        self._archive = zipfile.ZipFile(self._written, "w")

    @property
    def file_count(self) -> int:
        return len(self._archive.filelist)

    async def add(self, path: str, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The bytes of the archive that the file adds."""
        with self._archive.open(zipfile.ZipInfo(path), "w") as file:
            async for chunk in chunks:
                file.write(chunk)
                yield self._written.take()
        yield self._written.take()

    def finish(self) -> bytes:
        """The directory of the archive, which ends it."""
        self._archive.close()
        return self._written.take()


class _Buffer:
    """A file that can only be written."""

    def __init__(self) -> None:
        self._content = bytearray()

    def write(self, content: bytes) -> int:
        self._content += content
        return len(content)

    def flush(self) -> None:
        """There is nothing to flush."""

    def close(self) -> None:
        """What was written can still be taken."""

    def take(self) -> bytes:
        """What was written since the last time."""
        taken, self._content = bytes(self._content), bytearray()
        return taken
