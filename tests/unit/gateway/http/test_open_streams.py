"""Streams end with their key, and only with theirs."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from services.chassis.context import Caller
from services.chassis.errors import Unauthenticated
from services.gateway.auth.key_cache import KeyCache
from services.gateway.http.open_streams import OpenStreams
from services.gateway.http.request_context import RequestContext
from tests.fakes.chassis import FakeClock

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Desk:
    """Open streams, and the cache that knows revoked keys."""

    def __init__(self) -> None:
        self.cache = KeyCache()
        self.streams = OpenStreams(self.cache, FakeClock(NOW))

    async def follow(self, key_id: str, *, expires_in: float | None = None) -> None:
        expires_at = None if expires_in is None else NOW + timedelta(seconds=expires_in)
        async with self.streams.while_valid(RequestContext(Caller("org", subject=key_id), key_expires_at=expires_at)):
            await asyncio.Event().wait()

    def revoke(self, key_id: str) -> None:
        self.cache.revoke(key_id)
        self.streams.end(key_id)


async def opened(desk: Desk, *key_ids: str) -> list[asyncio.Task[None]]:
    tasks = [asyncio.create_task(desk.follow(key_id)) for key_id in key_ids]
    await asyncio.sleep(0)
    return tasks


async def test_all_streams_of_a_revoked_key_end_and_those_of_others_stay() -> None:
    desk = Desk()
    one, two, other = await opened(desk, "key", "key", "other")
    desk.revoke("key")
    for ended in (one, two):
        with pytest.raises(Unauthenticated) as error:
            await ended
        assert error.value.reason == "INVALID_API_KEY"
    assert not other.done()
    other.cancel()
    with pytest.raises(asyncio.CancelledError):
        await other


async def test_a_key_that_is_revoked_twice_ends_its_streams_once() -> None:
    desk = Desk()
    (task,) = await opened(desk, "key")
    desk.revoke("key")
    desk.revoke("key")
    with pytest.raises(Unauthenticated):
        await task
    desk.revoke("key")


async def test_a_key_that_was_revoked_just_before_opens_no_stream() -> None:
    desk = Desk()
    desk.revoke("key")
    with pytest.raises(Unauthenticated):
        await desk.follow("key")


async def test_a_stream_ends_when_its_key_expires() -> None:
    with pytest.raises(Unauthenticated) as error:
        await Desk().follow("key", expires_in=0.01)
    assert error.value.reason == "API_KEY_EXPIRED"


async def test_a_timeout_of_the_stream_itself_is_passed_on() -> None:
    with pytest.raises(TimeoutError):
        async with Desk().streams.while_valid(RequestContext(Caller("org", subject="key"))):
            raise TimeoutError


async def test_streams_end_with_their_session() -> None:
    desk = Desk()

    async def follow(session_id: str) -> None:
        context = RequestContext(Caller("org", subject="key"), session_id=session_id)
        async with desk.streams.while_valid(context):
            await asyncio.Event().wait()

    one, two = (asyncio.create_task(follow(name)) for name in ("s1", "s2"))
    await asyncio.sleep(0)
    desk.revoke("s1")
    with pytest.raises(Unauthenticated) as error:
        await one
    assert error.value.reason == "INVALID_SESSION"
    assert not two.done()
    desk.revoke("key")
    with pytest.raises(Unauthenticated) as error:
        await two
    assert error.value.reason == "INVALID_SESSION"
    with pytest.raises(Unauthenticated):
        await follow("s1")
