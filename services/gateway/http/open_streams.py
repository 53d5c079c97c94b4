"""Requests that may stay open for long; they end as soon as their key or session is revoked or expires."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.chassis.clock import Clock
from services.chassis.errors import Unauthenticated
from services.gateway.auth.api_keys import ended_session, expired_api_key, invalid_api_key
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
        """Cancel what runs inside the block when the client's key or session ends.

        Raises:
            Unauthenticated: the key or session has ended.
        """
        ids, expires_at = _ids(request_context), request_context.key_expires_at
        # A revocation that came after the authentication found no stream to end.
        if any(map(self._key_cache.is_revoked, ids)):
            raise _ended(request_context)
        left = None if expires_at is None else (expires_at - self._clock.now()).total_seconds()
        stream = asyncio.timeout(left)
        try:
            async with stream:
                for id_ in ids:
                    self._streams[id_].add(stream)
                yield
        except TimeoutError:
            if not stream.expired():
                raise
            revoked = any(map(self._key_cache.is_revoked, ids)) or request_context.session_id
            raise (_ended(request_context) if revoked else expired_api_key()) from None
        finally:
            for id_ in ids:
                self._remove(id_, stream)

    def end(self, key_id: str) -> None:
        """End the streams of a key or session that has been revoked."""
        for stream in self._streams.get(key_id, ()):
            # Revocations are delivered more than once, and an expired timeout cannot be rescheduled.
            if not stream.expired():
                stream.reschedule(asyncio.get_running_loop().time())

    def _remove(self, key_id: str, stream: asyncio.Timeout) -> None:
        self._streams[key_id].discard(stream)
        if not self._streams[key_id]:
            del self._streams[key_id]


def _ids(request_context: RequestContext) -> tuple[str, ...]:
    """Of the key, and of the session if there is one."""
    key_id, session_id = request_context.caller.subject or "", request_context.session_id
    return (key_id, session_id) if session_id else (key_id,)


def _ended(request_context: RequestContext) -> Unauthenticated:
    return ended_session() if request_context.session_id else invalid_api_key()
