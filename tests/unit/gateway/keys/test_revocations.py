"""Key events."""

from datetime import UTC, datetime

from mobiletest.catalog.v1 import events_pb2

from services.chassis.events import Event
from services.gateway.keys.holders import Holder
from services.gateway.keys.memory import KeyMemory
from services.gateway.keys.revocations import TOPIC, Revocations


def event(payload: bytes, type_: str = "mobiletest.catalog.v1.ApiKeyChanged") -> Event:
    return Event(TOPIC, "k", type_, "test", "1", datetime(2026, 1, 1, tzinfo=UTC), payload)


def changed(**values: object) -> bytes:
    return events_pb2.ApiKeyChanged(api_key_id="k", **values).SerializeToString()  # type: ignore[arg-type]


async def test_only_deletions_forget() -> None:
    memory = KeyMemory()
    memory.accept(b"f", Holder("k", "o", frozenset()), 0.0)
    await Revocations(memory).handle([event(changed(deleted=False)), event(b"\xff", "something.Else")])
    assert memory.recall(b"f", 1.0)
    await Revocations(memory).handle([event(changed(deleted=True))])
    assert memory.recall(b"f", 1.0) is None


async def test_what_cannot_be_read_is_named_and_the_rest_applied() -> None:
    memory = KeyMemory()
    memory.accept(b"f", Holder("k", "o", frozenset()), 0.0)
    bad = event(b"\xff\xff")
    (refused,) = await Revocations(memory).handle([bad, event(changed(deleted=True))])
    assert refused.event is bad
    assert memory.recall(b"f", 1.0) is None
