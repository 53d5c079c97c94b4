"""Operations whose body is a file: it goes to the RPC as a stream of chunks, after a message with the parameters."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeAlias

from aiohttp import web

from services.gateway.handlers.concurrency import ConcurrencyLimit
from services.gateway.handlers.request_reader import RequestReader
from services.gateway.handlers.upload_reader import BodySource, UploadReader, accept_upload
from services.gateway.http.open_streams import OpenStreams
from services.gateway.http.request_context import REQUEST_CONTEXT
from services.gateway.page_turns import Render
from services.gateway.settings import Settings
from services.gateway.upstream.rpcs import Rpc
from services.gateway.upstream.upload_call import upload

ReadFile: TypeAlias = Callable[[web.Request, Settings], Awaitable[AsyncIterator[bytes]]]
"""Gives the bytes of the file that a request has, or that its body makes."""


class BodyStreamHandler:
    """Streams the file of a request; nothing is stored here."""

    def __init__(
        self,
        reader: RequestReader,
        rpc: Rpc,
        open_streams: OpenStreams,
        *,
        read: ReadFile,
        limit: ConcurrencyLimit,
        render: Render,
        settings: Settings,
    ) -> None:
        self._reader = reader
        self._rpc = rpc
        self._open_streams = open_streams
        self._read = read
        self._limit = limit
        self._render = render
        self._settings = settings

    async def handle(self, request: web.Request) -> web.StreamResponse:
        context = request[REQUEST_CONTEXT]
        first: Any = (await self._reader.read(request)).message
        if "expected_bytes" in first.DESCRIPTOR.fields_by_name:
            first.expected_bytes = request.content_length or 0
        with self._limit.enter(context):
            async with self._open_streams.while_valid(context):
                chunks = await self._read(request, self._settings)
                timeout = self._reader.stream_timeout(context)
                with self._reader.call_scope(context, timeout):
                    call = self._rpc(None, timeout=timeout)
                    try:
                        return await self._render(await upload(call, _messages(first, chunks)))
                    finally:
                        call.cancel()


async def read_body(request: web.Request, settings: Settings) -> AsyncIterator[bytes]:
    """The body as it is. HttpError for what its headers say."""
    await accept_upload(request, settings)
    return UploadReader(settings).chunks(BodySource(request.content))


async def _messages(first: Any, file: AsyncIterator[bytes]) -> AsyncIterator[Any]:
    """The message with the parameters, those with the chunks, and the one with the end."""
    message, size = type(first), 0
    yield first
    async with aclosing(file) as chunks:  # type: ignore[type-var]
        async for chunk in chunks:
            if chunk:
                yield message(chunk=chunk)
                size += len(chunk)
    yield message(end={"size": size})
