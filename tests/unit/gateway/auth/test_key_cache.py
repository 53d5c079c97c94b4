"""Key events."""

from datetime import UTC, datetime

from mobiletest.catalog.v1 import events_pb2

from services.chassis.events import Event
from services.gateway.auth.api_keys import KeyHolder
from services.gateway.auth.key_cache import KEY_EVENTS_TOPIC, KeyCache, revoke_deleted_keys


def event(payload: bytes, type_: str = "mobiletest.catalog.v1.ApiKeyChanged") -> Event:
    return Event(KEY_EVENTS_TOPIC, "k", type_, "test", "1", datetime(2026, 1, 1, tzinfo=UTC), payload)


def changed(**values: object) -> bytes:
    return events_pb2.ApiKeyChanged(api_key_id="k", **values).SerializeToString()  # type: ignore[arg-type]


async def test_only_deletions_revoke() -> None:
    cache = KeyCache()
    cache.put_valid(b"f", KeyHolder("k", "o", frozenset()), 0.0)
    await revoke_deleted_keys(cache.revoke, [event(changed(deleted=False)), event(b"\xff", "something.Else")])
    assert cache.get(b"f", 1.0)
    await revoke_deleted_keys(cache.revoke, [event(changed(deleted=True))])
    assert cache.get(b"f", 1.0) is None


async def test_unparsable_events_are_returned_and_the_rest_applied() -> None:
    cache = KeyCache()
    cache.put_valid(b"f", KeyHolder("k", "o", frozenset()), 0.0)
    bad = event(b"\xff\xff")
    (invalid,) = await revoke_deleted_keys(cache.revoke, [bad, event(changed(deleted=True))])
    assert invalid.event is bad
    assert cache.get(b"f", 1.0) is None
