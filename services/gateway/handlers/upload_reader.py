"""Reads what clients upload as a stream, within limits on size, pauses and rate."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Protocol, TypeVar

from aiohttp import StreamReader, web
from aiohttp.http_exceptions import HttpProcessingError

from services.gateway.http import request_body
from services.gateway.settings import Settings

CHUNK_BYTES = 256 * 1024

T = TypeVar("T")


class ChunkSource(Protocol):
    """A part of a form (aiohttp's BodyPartReader), or a body."""

    def at_eof(self) -> bool: ...
    async def read_chunk(self, size: int) -> bytes: ...


@dataclass(frozen=True, slots=True)
class BodySource:
    """A whole body as a source of chunks."""

    content: StreamReader

    def at_eof(self) -> bool:
        return self.content.at_eof()

    async def read_chunk(self, size: int) -> bytes:
        return await self.content.read(size)


@dataclass(slots=True)
class UploadReader:
    """Reads one upload, which may have several parts."""

    settings: Settings
    clock: Callable[[], float] = monotonic
    _received_bytes: int = 0
    # For the client only: a slow consumer does not make the client slow.
    _waited_seconds: float = 0.0

    async def chunks(self, source: ChunkSource) -> AsyncIterator[bytes]:
        """The content of a part; HttpError when it is too large or too slow."""
        size = 0
        while not source.at_eof():
            with self.map_errors():
                chunk = await self.receive(source.read_chunk(CHUNK_BYTES))
            self._check_rate(len(chunk))
            size += len(chunk)
            if size > self.settings.max_upload_bytes:
                raise request_body.body_too_large(self.settings.max_upload_bytes)
            if chunk:
                yield chunk

    async def receive(self, reading: Awaitable[T]) -> T:
        """What the client sends next. TimeoutError when it pauses for too long."""
        began = self.clock()
        async with asyncio.timeout(self.settings.idle_timeout_seconds):
            received = await reading
        self._waited_seconds += self.clock() - began
        return received

    @contextmanager
    def map_errors(self) -> Iterator[None]:
        """Inside the block, what aiohttp raises while reading becomes an HttpError."""
        try:
            yield
        except TimeoutError:
            raise request_body.body_too_slow(self.settings.idle_timeout_seconds) from None
        except (ValueError, AssertionError, HttpProcessingError, web.HTTPException, web.RequestPayloadError):
            raise request_body.broken_body() from None

    def _check_rate(self, size: int) -> None:
        """Count bytes that have arrived; HttpError 408 when they are few for the time that they took."""
        self._received_bytes += size
        settings = self.settings
        expected = (self._waited_seconds - settings.idle_timeout_seconds) * settings.min_upload_bytes_per_second
        if self._received_bytes < expected:
            raise request_body.upload_too_slow(settings.min_upload_bytes_per_second)


async def accept_upload(request: web.BaseRequest, settings: Settings) -> None:
    """Let the client send its body; HttpError 413 or 415 for what the headers say."""
    request_body.check_encoding(request)
    request_body.check_length(request, settings.max_upload_bytes)
    await request_body.send_100_continue(request)
