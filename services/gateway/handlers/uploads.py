"""POST /api/v1/apps/{app_id}/builds: a multipart form goes to UploadBuild as a stream, JSON to CreateBuild.

Fields before the file are the fast way: the file then flows through. When no field of ours comes before it, it is
spooled first, because the service wants the description first; a field that comes after the file although others came
before it is refused.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import grpc
import orjson
from aiohttp import BodyPartReader
from aiohttp.web import StreamResponse
from mobiletest.catalog.v1 import builds_pb2

from services.gateway.decoding import validation_errors
from services.gateway.decoding.requests import Decoded, RequestDecoder, Source, parse_json
from services.gateway.decoding.validation_errors import InvalidRequest, MalformedBody, Problem
from services.gateway.handlers.invocation import Invocation
from services.gateway.handlers.multipart_form import CHUNK_BYTES, FILE, FORM_TYPE, FormLimits, MultipartForm, open_form
from services.gateway.handlers.spool import spool
from services.gateway.handlers.unary import Render
from services.gateway.http.request_context import Handler, RequestContext
from services.gateway.upstream.channels import Rpc

FIELDS = frozenset(("version", "metadata", "package_name"))
_LATE = Problem("field_after_file", "Send this field before the file, or send all fields after it")


class UploadHandler:
    """Chooses by the content type; streams forms."""

    def __init__(
        self, invocation: Invocation, rpc: Rpc, *, otherwise: Handler, render: Render, limits: FormLimits
    ) -> None:
        self._invocation = invocation
        self._rpc = rpc
        self._otherwise = otherwise
        self._render = render
        self._limits = limits
        self._decoder = RequestDecoder(builds_pb2.UploadBuildMetadata, ["app_id"], takes_body=True)

    async def __call__(self, exchange: RequestContext) -> StreamResponse:
        if exchange.http.content_type != FORM_TYPE:
            return await self._otherwise(exchange)
        form = await open_form(exchange.http, self._limits)
        file = await form.next_file()
        if file is None:
            raise InvalidRequest([validation_errors.MISSING.at(("body", FILE))])
        if FIELDS.isdisjoint(form.fields):
            answer = await self._spooled(form, file, exchange)
        else:
            answer = await self._streamed(form, file, exchange)
        return self._render(answer, exchange)

    async def _spooled(self, form: MultipartForm, file: BodyPartReader, exchange: RequestContext) -> Any:
        async with spool() as kept:
            await kept.fill(form.chunks(file))
            await form.finish()
            return await self._send(self._description(form, file, exchange), kept.chunks(CHUNK_BYTES), exchange)

    async def _streamed(self, form: MultipartForm, file: BodyPartReader, exchange: RequestContext) -> Any:
        description, before = self._description(form, file, exchange), set(form.fields)

        async def chunks() -> AsyncIterator[bytes]:
            async for chunk in form.chunks(file):
                yield chunk
            await form.finish()
            late = sorted(form.fields.keys() - before)
            refused = late if exchange.strict else [name for name in late if name in FIELDS]
            if refused:
                raise InvalidRequest([_LATE.at(("body", name)) for name in refused])
            exchange.note_ignored([*description.ignored, *late])

        return await self._send(description, chunks(), exchange)

    def _description(self, form: MultipartForm, file: BodyPartReader, exchange: RequestContext) -> Decoded:
        body: dict[str, object] = dict(form.fields)
        if "metadata" in body:
            body["metadata"] = _metadata(form.fields["metadata"])
        http = exchange.http
        source = Source(exchange.path, http.rel_url.raw_query_string, http.headers, orjson.dumps(body))
        decoded = self._decoder.decode(source, strict=exchange.strict)
        exchange.note_ignored(decoded.ignored)
        decoded.message.file_name = _file_name(file.filename)  # type: ignore[attr-defined]
        decoded.message.has_end = True  # type: ignore[attr-defined]
        return decoded

    async def _send(self, description: Decoded, chunks: AsyncIterator[bytes], exchange: RequestContext) -> Any:
        seconds = self._invocation.stream_seconds(exchange)
        with self._invocation.calling(description, exchange, seconds):
            call = self._rpc(None, timeout=seconds)
            try:
                await _write(call, description, chunks)
                return await call
            finally:
                call.cancel()


async def _write(call: Any, description: Decoded, chunks: AsyncIterator[bytes]) -> None:
    """A service that has answered already takes no more: its answer says why."""
    with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
        await call.write(builds_pb2.UploadBuildRequest(metadata=description.message))  # type: ignore[arg-type]
        size = 0
        async for chunk in chunks:
            await call.write(builds_pb2.UploadBuildRequest(chunk=chunk))
            size += len(chunk)
        await call.write(builds_pb2.UploadBuildRequest(chunk=b"", end=builds_pb2.UploadBuildEnd(size=size)))
        await call.done_writing()


def _metadata(text: str) -> object:
    try:
        return parse_json(text.encode())
    except MalformedBody as error:
        raise InvalidRequest([Problem("json_invalid", str(error)).at(("body", "metadata"))]) from None


def _file_name(name: str | None) -> str:
    """The last part of the name that the client gave, as far as it is text."""
    bare = (name or "").replace("\\", "/").rpartition("/")[2]
    return bare.encode(errors="replace").decode()[:1000]
