"""Key events."""

from datetime import UTC, datetime

from mobiletest.catalog.v1 import events_pb2

from services.chassis.events import Event
from services.gateway.auth.api_keys import KeyHolder
from services.gateway.auth.key_cache import KEY_EVENTS_TOPIC, KeyCache, revoke_ended


def event(payload: bytes, type_: str = "mobiletest.catalog.v1.ApiKeyChanged") -> Event:
    return Event(KEY_EVENTS_TOPIC, "k", type_, "test", "1", datetime(2026, 1, 1, tzinfo=UTC), payload)


def changed(**values: object) -> bytes:
    return events_pb2.ApiKeyChanged(api_key_id="k", **values).SerializeToString()  # type: ignore[arg-type]


async def test_only_deletions_revoke() -> None:
    cache = KeyCache()
    cache.put_valid(b"f", KeyHolder("k", "o", frozenset()), 0.0)
    await revoke_ended(cache.revoke, [event(changed(deleted=False)), event(b"\xff", "something.Else")])
    assert cache.get(b"f", 1.0)
    await revoke_ended(cache.revoke, [event(changed(deleted=True))])
    assert cache.get(b"f", 1.0) is None


async def test_unparsable_events_are_returned_and_the_rest_applied() -> None:
    cache = KeyCache()
    cache.put_valid(b"f", KeyHolder("k", "o", frozenset()), 0.0)
    bad = event(b"\xff\xff")
    (invalid,) = await revoke_ended(cache.revoke, [bad, event(changed(deleted=True))])
    assert invalid.event is bad
    assert cache.get(b"f", 1.0) is None


SESSIONS = [KeyHolder("k", "o", frozenset(), session_id=name) for name in ("s1", "s2")]


async def test_a_session_that_ended_is_revoked_and_the_others_of_its_key_stay() -> None:
    cache = KeyCache()
    for session in SESSIONS:
        cache.put_valid(session.session_id.encode(), session, 0.0)
    ended = events_pb2.SessionEnded(session_id="s1").SerializeToString()
    assert await revoke_ended(cache.revoke, [event(ended, "mobiletest.catalog.v1.SessionEnded")]) == []
    assert cache.get(b"s1", 1.0) is None
    assert cache.get(b"s2", 1.0)
    assert not cache.put_valid(b"s1", SESSIONS[0], 1.0)


async def test_the_sessions_of_a_deleted_key_are_revoked() -> None:
    cache = KeyCache()
    for session in SESSIONS:
        cache.put_valid(session.session_id.encode(), session, 0.0)
    await revoke_ended(cache.revoke, [event(changed(deleted=True))])
    assert [cache.get(session.session_id.encode(), 1.0) for session in SESSIONS] == [None, None]
