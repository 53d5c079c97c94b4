"""Consumes the catalog's key events and revokes deleted keys."""

from google.protobuf.message import DecodeError
from mobiletest.catalog.v1 import events_pb2

from services.chassis.events import Event, InvalidMessage, parse_each
from services.gateway.auth.key_cache import KeyCache

KEY_EVENTS_TOPIC = "mobiletest.catalog.v1.key-events"
_CHANGED = events_pb2.ApiKeyChanged.DESCRIPTOR.full_name


class KeyRevocationHandler:
    """Handles batches of key events."""

    def __init__(self, key_cache: KeyCache) -> None:
        self._key_cache = key_cache

    async def handle(self, events: list[Event]) -> list[InvalidMessage]:
        """Returns the events that cannot be parsed; unknown types are skipped."""
        _, invalid = parse_each((event for event in events if event.type == _CHANGED), self._apply)
        return invalid

    def _apply(self, event: Event) -> None:
        try:
            changed = events_pb2.ApiKeyChanged.FromString(event.payload)
        except DecodeError as error:
            raise InvalidMessage("UNDECODABLE", str(error), event=event) from error
        if changed.deleted:
            self._key_cache.revoke(changed.api_key_id)
