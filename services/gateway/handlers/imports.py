"""POST /api/v1/tests/import: a zip archive, or a form with the files of a folder, goes to ImportTests as a stream.

Files of a form are packed into an archive as they arrive, so that the catalog reads one format; nothing is stored here.
"""

from collections.abc import AsyncIterator

from aiohttp import web

from services.gateway.decoding.validation_errors import FieldError, InvalidRequest, known_error
from services.gateway.handlers.multipart_form import FILE, FORM_TYPE, FormPart, MultipartForm, open_form
from services.gateway.handlers.uploads import read_body
from services.gateway.handlers.zip_stream import ZipStream
from services.gateway.http.json_responses import HttpError
from services.gateway.settings import Settings

FILES = "files"
ZIP_TYPES = ("application/zip", "application/x-zip-compressed", "application/octet-stream")
FILES_LIMIT = 2_000


async def read_archive(request: web.Request, settings: Settings) -> AsyncIterator[bytes]:
    """The bytes of the archive that the request has, or that its files make."""
    if request.content_type == FORM_TYPE:
        return _read_form(await open_form(request, settings))
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
