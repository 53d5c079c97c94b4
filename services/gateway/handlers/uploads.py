"""POST /api/v1/apps/{app_id}/builds: a multipart form with the artifact of the build.

The fields before the file are sent first, so that the catalog rejects a wrong upload early; all fields are sent again
at the end, together with those after the file.
"""

from functools import partial

from aiohttp import web
from mobiletest.catalog.v1 import builds_pb2

from services.gateway.decoding.requests import RequestDecoder, Source, parse_json
from services.gateway.decoding.validation_errors import FieldError, InvalidRequest, MalformedBody, known_error
from services.gateway.handlers.multipart_form import FILE, FormPart, MultipartForm, open_form
from services.gateway.http.request_context import REQUEST_CONTEXT
from services.gateway.settings import Settings
from services.gateway.upstream.upload_calls import FileUpload

MAX_FILE_NAME_LENGTH = 1000


class FormUploads:
    """Uploads of builds."""

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


def _parse_metadata(text: str) -> object:
    try:
        return parse_json(text.encode())
    except MalformedBody as error:
        raise InvalidRequest([FieldError(("body", "metadata"), str(error), "json_invalid")]) from None


def _file_name(name: str | None) -> str:
    """The last part of the path that the client gave."""
    return (name or "").replace("\\", "/").rpartition("/")[2][:MAX_FILE_NAME_LENGTH]
