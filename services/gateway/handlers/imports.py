"""POST /api/v1/tests/import: a zip archive, or a form with the files of a folder, goes to ImportTests as a stream.

Files of a form are packed into an archive as they arrive, so that the catalog reads one format; nothing is stored here.
"""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from aiohttp import BodyPartReader, web
from mobiletest.catalog.v1 import tests_pb2

from services.gateway.decoding.validation_errors import FieldError, InvalidRequest, known_error
from services.gateway.handlers.concurrency import ConcurrencyLimit
from services.gateway.handlers.multipart_form import FILE, FORM_TYPE, MultipartForm, open_form
from services.gateway.handlers.request_reader import RequestReader
from services.gateway.handlers.unary import Render
from services.gateway.handlers.upload_reader import BodySource, UploadReader, accept_upload
from services.gateway.handlers.zip_stream import ZipStream
from services.gateway.http.json_responses import HttpError
from services.gateway.http.open_streams import OpenStreams
from services.gateway.http.request_context import REQUEST_CONTEXT
from services.gateway.settings import Settings
from services.gateway.upstream.rpcs import Rpc
from services.gateway.upstream.upload_call import upload

FILES = "files"
ZIP_TYPES = ("application/zip", "application/x-zip-compressed", "application/octet-stream")
FILES_LIMIT = 2_000


class ImportHandler:
    """Streams archives and forms."""

    def __init__(
        self,
        reader: RequestReader,
        rpc: Rpc,
        open_streams: OpenStreams,
        *,
        limit: ConcurrencyLimit,
        render: Render,
        settings: Settings,
    ) -> None:
        self._reader = reader
        self._rpc = rpc
        self._open_streams = open_streams
        self._limit = limit
        self._render = render
        self._settings = settings

    async def handle(self, request: web.Request) -> web.StreamResponse:
        context = request[REQUEST_CONTEXT]
        decoded = await self._reader.read(request)
        first: Any = decoded.message
        first.expected_bytes = request.content_length or 0
        with self._limit.enter(context):
            async with self._open_streams.while_valid(context):
                archive = await self._archive(request)
                timeout = self._reader.stream_timeout(context)
                with self._reader.call_scope(context, timeout):
                    call = self._rpc(None, timeout=timeout)
                    try:
                        return self._render(await upload(call, _messages(first, archive)))
                    finally:
                        call.cancel()

    async def _archive(self, request: web.Request) -> AsyncIterator[bytes]:
        """The bytes of the archive that the request has, or that its files make."""
        if request.content_type == FORM_TYPE:
            return _read_form(await open_form(request, self._settings))
        if request.content_type not in ZIP_TYPES:
            message = f"Send the folder as {ZIP_TYPES[0]} or as {FORM_TYPE}"
            raise HttpError(415, message, "CONTENT_TYPE_UNSUPPORTED", close=True)
        await accept_upload(request, self._settings)
        return UploadReader(self._settings).chunks(BodySource(request.content))


async def _messages(
    first: tests_pb2.ImportTestsRequest, archive: AsyncIterator[bytes]
) -> AsyncIterator[tests_pb2.ImportTestsRequest]:
    yield first
    size = 0
    async with aclosing(archive) as chunks:  # type: ignore[type-var]
        async for chunk in chunks:
            if chunk:
                yield tests_pb2.ImportTestsRequest(chunk=chunk)
                size += len(chunk)
    yield tests_pb2.ImportTestsRequest(end=tests_pb2.ImportTestsEnd(size=size))


async def _read_form(form: MultipartForm) -> AsyncIterator[bytes]:
    """The archive in the field `file`, or one of the files in the fields `files`."""
    part = await form.next_part()
    if part is None:
        raise InvalidRequest([known_error(("body", FILES), "missing")])
    if part.name == FILE:
        async for chunk in form.chunks(part):
            yield chunk
        await form.finish()
        return
    packed = ZipStream()
    while part is not None:
        async for chunk in packed.add(_path(part, packed.file_count), form.chunks(part)):
            yield chunk
        part = await form.next_part()
    yield packed.finish()


def _path(part: BodyPartReader, count: int) -> str:
    """The path of a file in the folder: the name that the form gives it."""
    if part.name != FILES or not part.filename:
        message = f"Send the files of the folder in fields '{FILES}', each with its path as the file name"
        raise InvalidRequest([FieldError(("body", _text(part.name or "")), message, "wrong_file_field")])
    if count >= FILES_LIMIT:
        message = f"The folder has more than {FILES_LIMIT} files: send only the folder of the flows"
        raise InvalidRequest([FieldError(("body", FILES), message, "too_long")])
    return _text(part.filename)


def _text(name: str) -> str:
    return name.encode(errors="replace").decode()
