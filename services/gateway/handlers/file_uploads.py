"""Operations that a file is sent to: as the body itself, or as one that the body makes."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

from aiohttp import web

from services.gateway.handlers.concurrency import ConcurrencyLimit
from services.gateway.handlers.request_reader import RequestReader
from services.gateway.handlers.upload_reader import accept_upload
from services.gateway.http.open_streams import OpenStreams
from services.gateway.http.request_context import REQUEST_CONTEXT
from services.gateway.page_turns import Render
from services.gateway.settings import Settings
from services.gateway.upstream.upload_calls import FileUpload, UploadCalls

# The upload of a request, whose file may still have to arrive.
ReadUpload: TypeAlias = Callable[[web.Request], Awaitable[FileUpload]]
# Gives the bytes of the file that a request has, or that its body makes.
ReadFile: TypeAlias = Callable[[web.Request, Settings], Awaitable[AsyncIterator[bytes]]]


class FileUploadHandler:
    """Passes the file of a request on as it arrives."""

    def __init__(
        self,
        reader: RequestReader,
        calls: UploadCalls,
        open_streams: OpenStreams,
        *,
        read: ReadUpload,
        limit: ConcurrencyLimit,
        render: Render,
    ) -> None:
        self._reader = reader
        self._calls = calls
        self._open_streams = open_streams
        self._read = read
        self._limit = limit
        self._render = render

    async def handle(self, request: web.Request) -> web.StreamResponse:
        context = request[REQUEST_CONTEXT]
        with self._limit.enter(context):
            async with self._open_streams.while_valid(context):
                upload = await self._read(request)
                timeout = self._reader.stream_timeout(context)
                with self._reader.call_scope(context, timeout):
                    return await self._render(await self._calls.send(upload, timeout))


class BodyUploads:
    """Uploads of an operation whose parameters are in the path and the query."""

    def __init__(self, reader: RequestReader, settings: Settings, read_file: ReadFile) -> None:
        self._reader = reader
        self._settings = settings
        self._read_file = read_file

    async def read(self, request: web.Request) -> FileUpload:
        """The upload.

        Raises:
            InvalidRequest: the form is not valid.
            HttpError: for what the headers say.
        """
        first: Any = (await self._reader.read(request)).message
        if "expected_bytes" in first.DESCRIPTOR.fields_by_name:
            first.expected_bytes = request.content_length or 0

        async def last() -> Any:
            return type(first)()

        return FileUpload(first, await self._read_file(request, self._settings), last)


async def read_body(request: web.Request, settings: Settings) -> AsyncIterator[bytes]:
    """The body as it is.

    Raises:
        HttpError: for what its headers say.
    """
    return (await accept_upload(request, settings)).chunks()
