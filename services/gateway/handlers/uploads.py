"""POST /api/v1/apps/{app_id}/builds: a multipart form goes to UploadBuild as a stream, JSON to CreateBuild.

The file flows through to the catalog as it arrives; nothing is stored here. The fields before it are sent first, so
that the catalog rejects a wrong upload early; all fields are sent again at the end, together with those after the file.
"""

from collections.abc import AsyncIterator
from typing import Any

from aiohttp import BodyPartReader, web
from aiohttp.typedefs import Handler
from mobiletest.catalog.v1 import builds_pb2

from services.gateway.decoding.requests import RequestDecoder, Source, parse_json
from services.gateway.decoding.validation_errors import FieldError, InvalidRequest, MalformedBody, known_error
from services.gateway.handlers.concurrency import ConcurrencyLimit
from services.gateway.handlers.multipart_form import FILE, FORM_TYPE, MultipartForm, open_form
from services.gateway.handlers.request_reader import RequestReader
from services.gateway.http.open_streams import OpenStreams
from services.gateway.http.request_context import REQUEST_CONTEXT
from services.gateway.page_turns import Render
from services.gateway.settings import Settings
from services.gateway.upstream.rpcs import Rpc
from services.gateway.upstream.upload_call import upload

MAX_FILE_NAME_LENGTH = 1000


class UploadHandler:
    """Streams forms; everything else is handled as JSON."""

    def __init__(
        self,
        reader: RequestReader,
        rpc: Rpc,
        open_streams: OpenStreams,
        *,
        limit: ConcurrencyLimit,
        json_handler: Handler,
        render: Render,
        settings: Settings,
    ) -> None:
        self._reader = reader
        self._limit = limit
        self._rpc = rpc
        self._open_streams = open_streams
        self._json_handler = json_handler
        self._render = render
        self._settings = settings
        self._decoder = RequestDecoder(builds_pb2.UploadBuildMetadata, ["app_id"], takes_body=True)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.content_type != FORM_TYPE:
            return await self._json_handler(request)
        context = request[REQUEST_CONTEXT]
        with self._limit.enter(context):
            async with self._open_streams.while_valid(context):
                form = await open_form(request, self._settings)
                file = await form.next_file()
                if file is None:
                    raise InvalidRequest([known_error(("body", FILE), "missing")])
                return await self._render(await self._upload(form, file, request))

    async def _upload(self, form: MultipartForm, file: BodyPartReader, request: web.Request) -> Any:
        metadata = self._decode_fields(form, file, request)
        request_context = request[REQUEST_CONTEXT]
        timeout = self._reader.stream_timeout(request_context)
        with self._reader.call_scope(request_context, timeout):
            call = self._rpc(None, timeout=timeout)
            try:
                return await upload(call, self._messages(metadata, form, file, request))
            finally:
                call.cancel()

    async def _messages(
        self, metadata: builds_pb2.UploadBuildMetadata, form: MultipartForm, file: BodyPartReader, request: web.Request
    ) -> AsyncIterator[builds_pb2.UploadBuildRequest]:
        yield builds_pb2.UploadBuildRequest(metadata=metadata)
        size = 0
        async for chunk in form.chunks(file):
            yield builds_pb2.UploadBuildRequest(chunk=chunk)
            size += len(chunk)
        await form.finish()
        metadata = self._decode_fields(form, file, request)
        yield builds_pb2.UploadBuildRequest(metadata=metadata, end=builds_pb2.UploadBuildEnd(size=size))

    def _decode_fields(
        self, form: MultipartForm, file: BodyPartReader, request: web.Request
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


def _parse_metadata(text: str) -> object:
    try:
        return parse_json(text.encode())
    except MalformedBody as error:
        raise InvalidRequest([FieldError(("body", "metadata"), str(error), "json_invalid")]) from None


def _file_name(name: str | None) -> str:
    """The last part of the path that the client gave, as valid text."""
    bare = (name or "").replace("\\", "/").rpartition("/")[2]
    return bare.encode(errors="replace").decode()[:MAX_FILE_NAME_LENGTH]
