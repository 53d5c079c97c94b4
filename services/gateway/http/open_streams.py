"""Requests that may stay open for long; they end as soon as their key is revoked or expires."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.chassis.clock import Clock
from services.gateway.auth.api_keys import expired_api_key, invalid_api_key
from services.gateway.auth.key_cache import KeyCache
from services.gateway.http.request_context import RequestContext


class OpenStreams:
    """The open streams of each key."""

    def __init__(self, key_cache: KeyCache, clock: Clock) -> None:
        self._key_cache = key_cache
        self._clock = clock
        self._streams: defaultdict[str, set[asyncio.Timeout]] = defaultdict(set)

    @asynccontextmanager
    async def while_valid(self, request_context: RequestContext) -> AsyncIterator[None]:
        """Cancels what runs inside the block when the client's key ends; Unauthenticated then."""
        key_id, expires_at = request_context.caller.subject or "", request_context.key_expires_at
        if self._key_cache.is_revoked(key_id):
            raise invalid_api_key()
        left = None if expires_at is None else (expires_at - self._clock.now()).total_seconds()
        stream = asyncio.timeout(left)
        try:
            async with stream:
                self._streams[key_id].add(stream)
                yield
        except TimeoutError:
            if not stream.expired():
                raise
            raise (invalid_api_key() if self._key_cache.is_revoked(key_id) else expired_api_key()) from None
        finally:
            self._remove(key_id, stream)

    def end(self, key_id: str) -> None:
        """End the streams of a key that has been revoked."""
        for stream in self._streams.get(key_id, ()):
            if not stream.expired():
                stream.reschedule(asyncio.get_running_loop().time())

    def _remove(self, key_id: str, stream: asyncio.Timeout) -> None:
        self._streams[key_id].discard(stream)
        if not self._streams[key_id]:
            del self._streams[key_id]
