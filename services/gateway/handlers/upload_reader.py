"""Reads what clients upload as a stream, within limits on size, pauses and rate."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from time import monotonic

from aiohttp import StreamReader, web
from aiohttp.http_exceptions import HttpProcessingError

from services.gateway.http import request_body
from services.gateway.settings import Settings


@dataclass(slots=True)
class UploadReader:
    """Reads the body of one request."""

    content: StreamReader
    settings: Settings
    # Beyond the largest file.
    more_bytes: int = 0
    clock: Callable[[], float] = monotonic
    _received_bytes: int = 0
    # For the client only: a slow consumer does not make the client slow.
    _waited_seconds: float = 0.0

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body.

        Raises:
            HttpError: it is too large, too slow, or not complete.
        """
        while chunk := await self._receive():
            self._received_bytes += len(chunk)
            self._check_rate()
            if self._received_bytes > self.settings.max_upload_bytes + self.more_bytes:
                raise request_body.body_too_large(self.settings.max_upload_bytes)
            yield chunk

    async def _receive(self) -> bytes:
        """What the client has sent meanwhile; nothing at the end."""
        began = self.clock()
        try:
            async with asyncio.timeout(self.settings.idle_timeout_seconds):
                return await self.content.readany()
        except TimeoutError:
            raise request_body.body_too_slow(self.settings.idle_timeout_seconds) from None
        except (HttpProcessingError, web.HTTPException, web.RequestPayloadError):
            raise request_body.broken_body() from None
        finally:
            self._waited_seconds += self.clock() - began

    def _check_rate(self) -> None:
        """HttpError 408: few bytes have arrived for the time that they took."""
        settings = self.settings
        expected = (self._waited_seconds - settings.idle_timeout_seconds) * settings.min_upload_bytes_per_second
        if self._received_bytes < expected:
            raise request_body.upload_too_slow(settings.min_upload_bytes_per_second)


async def accept_upload(request: web.BaseRequest, settings: Settings, *, more_bytes: int = 0) -> UploadReader:
    """Let the client send its body. `more_bytes` may arrive beyond the largest file, if the headers give no length.

    Raises:
        HttpError: for what the headers say (413 or 415).
    """
    request_body.check_encoding(request)
    request_body.check_length(request, settings.max_upload_bytes)
    await request_body.send_100_continue(request)
    return UploadReader(request.content, settings, more_bytes)
