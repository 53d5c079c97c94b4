"""Deleted keys, as Kafka tells of them."""

from google.protobuf.message import DecodeError
from mobiletest.catalog.v1 import events_pb2

from services.chassis.events import Event, InvalidMessage, parse_each
from services.gateway.auth.key_cache import KeyCache

KEY_EVENTS_TOPIC = "mobiletest.catalog.v1.key-events"
_CHANGED = events_pb2.ApiKeyChanged.DESCRIPTOR.full_name


class KeyRevocationHandler:
    """Handles batches of key events: what is deleted is forgotten."""

    def __init__(self, memory: KeyCache) -> None:
        self._memory = memory

    async def handle(self, events: list[Event]) -> list[InvalidMessage]:
        """Gives the events that cannot be read; unknown types are skipped."""
        _, refused = parse_each((event for event in events if event.type == _CHANGED), self._apply)
        return refused

    def _apply(self, event: Event) -> None:
        try:
            changed = events_pb2.ApiKeyChanged.FromString(event.payload)
        except DecodeError as error:
            raise InvalidMessage("UNDECODABLE", str(error), event=event) from error
        if changed.deleted:
            self._memory.revoke(changed.api_key_id)
