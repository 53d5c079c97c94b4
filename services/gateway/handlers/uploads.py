"""Operations that a file is sent to: as the body itself, as one that the body makes, or in a form with other fields."""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias

from aiohttp import web
from mobiletest.catalog.v1 import builds_pb2

from services.gateway.decoding.requests import RequestDecoder, Source, parse_json
from services.gateway.decoding.validation_errors import FieldError, InvalidRequest, MalformedBody, known_error
from services.gateway.handlers.concurrency import ConcurrencyLimit
from services.gateway.handlers.multipart_form import FILE, FormPart, MultipartForm, open_form
from services.gateway.handlers.request_reader import RequestReader
from services.gateway.handlers.upload_reader import accept_upload
from services.gateway.http.open_streams import OpenStreams
from services.gateway.http.request_context import REQUEST_CONTEXT
from services.gateway.page_turns import Render
from services.gateway.settings import Settings
from services.gateway.upstream.upload_calls import FileUpload, UploadCalls

MAX_FILE_NAME_LENGTH = 1000
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
                    answered = await self._calls.send(upload, timeout)
                    if answered.replayed:
                        context.response_headers["Idempotent-Replayed"] = "true"
                    return await self._render(answered.response)


class BodyUploads:
    """Uploads of an operation whose parameters are in the path and the query."""

    def __init__(self, reader: RequestReader, settings: Settings, read_file: ReadFile) -> None:
        self._reader = reader
        self._settings = settings
        self._read_file = read_file

    async def read(self, request: web.Request) -> FileUpload:
        """The upload.

        Raises:
            InvalidRequest: a parameter is not valid.
            HttpError: for what the headers say.
        """
        first: Any = (await self._reader.read(request)).message
        if "expected_bytes" in first.DESCRIPTOR.fields_by_name:
            first.expected_bytes = request.content_length or 0

        async def last() -> Any:
            return type(first)()

        return FileUpload(first, await self._read_file(request, self._settings), last)


class FormUploads:
    """Uploads of builds: a multipart form with the artifact.

    The fields before the file are sent first, so that the catalog rejects a wrong upload early; all fields are sent
    again at the end, together with those after the file.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._decoder = RequestDecoder(builds_pb2.UploadBuildMetadata, ["app_id"], takes_body=True)

    async def read(self, request: web.Request) -> FileUpload:
        """The upload.

        Raises:
            InvalidRequest: the form is not valid.
            HttpError: for what the headers say.
        """
        form = await open_form(request, self._settings)
        file = await form.next_file()
        if file is None:
            raise InvalidRequest([known_error(("body", FILE), "missing")])
        decode = partial(self._decode_fields, form, file, request)

        async def last() -> builds_pb2.UploadBuildRequest:
            await form.finish()
            return builds_pb2.UploadBuildRequest(metadata=decode())

        return FileUpload(builds_pb2.UploadBuildRequest(metadata=decode()), form.chunks(), last)

    def _decode_fields(
        self, form: MultipartForm, file: FormPart, request: web.Request
    ) -> builds_pb2.UploadBuildMetadata:
        """The metadata of the upload, from the fields that have been read so far."""
        body: dict[str, object] = dict(form.fields)
        if "metadata" in body:
            body["metadata"] = _parse_metadata(form.fields["metadata"])
        request_context = request[REQUEST_CONTEXT]
        query = request.rel_url.raw_query_string
        source = Source(request.match_info, query, request.headers, body)
        decoded = self._decoder.decode(source, strict=request_context.strict)
        request_context.report_ignored(decoded.ignored)
        metadata: builds_pb2.UploadBuildMetadata = decoded.message  # type: ignore[assignment]
        metadata.file_name = _file_name(file.filename)
        metadata.expected_bytes = request.content_length or 0
        return metadata


async def read_body(request: web.Request, settings: Settings) -> AsyncIterator[bytes]:
    """The body as it is.

    Raises:
        HttpError: for what its headers say.
    """
    return (await accept_upload(request, settings)).chunks()


def _parse_metadata(text: str) -> object:
    try:
        return parse_json(text.encode())
    except MalformedBody as error:
        raise InvalidRequest([FieldError(("body", "metadata"), str(error), "json_invalid")]) from None


def _file_name(name: str | None) -> str:
    """The last part of the path that the client gave."""
    return (name or "").replace("\\", "/").rpartition("/")[2][:MAX_FILE_NAME_LENGTH]
