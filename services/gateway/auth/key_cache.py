"""The catalog's answers about API keys, cached for a short time; revoked keys are never served from it."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from google.protobuf.message import DecodeError
from mobiletest.catalog.v1 import events_pb2

from services.chassis.events import Event, InvalidMessage, parse_each
from services.gateway.auth.api_keys import KeyHolder

KEY_EVENTS_TOPIC = "mobiletest.catalog.v1.key-events"
_CHANGED = events_pb2.ApiKeyChanged.DESCRIPTOR.full_name
_ENDED = events_pb2.SessionEnded.DESCRIPTOR.full_name

V = TypeVar("V")

VALID_SECONDS = 30.0
INVALID_SECONDS = 5.0
# How long a valid key that cannot be verified again is accepted until the next attempt.
HELD_SECONDS = 5.0
MAX_KEYS = 20_000


class BoundedDict(Generic[V]):
    """A dictionary of at most `max_entries`; the oldest are evicted."""

    def __init__(self, max_entries: int) -> None:
        self._max_entries = max_entries
        self._entries: OrderedDict[bytes, V] = OrderedDict()

    def get(self, key: bytes) -> V | None:
        return self._entries.get(key)

    def put(self, key: bytes, value: V) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._max_entries:
            self._entries.popitem(last=False)

    def remove(self, key: bytes) -> None:
        self._entries.pop(key, None)


@dataclass(frozen=True, slots=True)
class CachedKey:
    """A holder, or the reason (INVALID_API_KEY, API_KEY_EXPIRED) why there is none."""

    holder: KeyHolder | None
    reason: str
    until: float


class KeyCache:
    """Answers by the fingerprint of a key. Times are in seconds of a monotonic clock."""

    def __init__(self, max_keys: int = MAX_KEYS) -> None:
        self._valid: BoundedDict[CachedKey] = BoundedDict(max_keys)
        self._invalid: BoundedDict[CachedKey] = BoundedDict(max_keys)
        self._fingerprints: BoundedDict[bytes] = BoundedDict(max_keys)
        self._revoked: BoundedDict[bool] = BoundedDict(max_keys)

    def get(self, fingerprint: bytes, now: float) -> CachedKey | None:
        """The answer, unless it has expired."""
        cached_key = self._last_valid(fingerprint) or self._invalid.get(fingerprint)
        return cached_key if cached_key is not None and now < cached_key.until else None

    def put_valid(self, fingerprint: bytes, holder: KeyHolder, now: float) -> bool:
        """Cache a valid key for 30 s. False when it was revoked while the catalog verified it."""
        if self._is_any_revoked(holder):
            return False
        self._invalid.remove(fingerprint)
        self._valid.put(fingerprint, CachedKey(holder, "", now + VALID_SECONDS))
        for id_ in holder.revocable_ids:
            self._fingerprints.put(id_.encode(), fingerprint)
        return True

    def knows(self, fingerprint: bytes) -> bool:
        """Whether the key was valid when it was verified last."""
        return self._last_valid(fingerprint) is not None

    def hold(self, fingerprint: bytes, now: float) -> KeyHolder | None:
        """The holder of a key that was valid when it was verified last, for 5 more seconds; None once it is revoked."""
        cached_key = self._last_valid(fingerprint)
        if cached_key is None:
            return None
        self._valid.put(fingerprint, CachedKey(cached_key.holder, "", now + HELD_SECONDS))
        return cached_key.holder

    def _last_valid(self, fingerprint: bytes) -> CachedKey | None:
        cached_key = self._valid.get(fingerprint)
        revoked = cached_key is not None and cached_key.holder is not None and self._is_any_revoked(cached_key.holder)
        return None if revoked else cached_key

    def put_invalid(self, fingerprint: bytes, reason: str, now: float) -> None:
        """Cache a rejection for 5 s."""
        self._valid.remove(fingerprint)
        self._invalid.put(fingerprint, CachedKey(None, reason, now + INVALID_SECONDS))

    def _is_any_revoked(self, holder: KeyHolder) -> bool:
        return any(map(self.is_revoked, holder.revocable_ids))

    def is_revoked(self, key_id: str) -> bool:
        """Whether the key, or the session, of this id has been revoked."""
        return self._revoked.get(key_id.encode()) is not None

    def revoke(self, key_id: str) -> None:
        """Never accept the key or session again, even if an answer that is under way still calls it valid."""
        id_ = key_id.encode()
        self._revoked.put(id_, value=True)
        fingerprint = self._fingerprints.get(id_)
        if fingerprint is not None:
            self._valid.remove(fingerprint)
            self._fingerprints.remove(id_)


async def revoke_ended(revoke: Callable[[str], None], events: list[Event]) -> list[InvalidMessage]:
    """Call `revoke` for each deleted key and each ended session; returns the events that cannot be parsed.

    Unknown types are skipped.
    """
    parsed, invalid = parse_each((event for event in events if event.type in (_CHANGED, _ENDED)), _parse)
    for changed in parsed:
        if isinstance(changed, events_pb2.SessionEnded):
            revoke(changed.session_id)
        elif changed.deleted:
            revoke(changed.api_key_id)
    return invalid


def _parse(event: Event) -> events_pb2.ApiKeyChanged | events_pb2.SessionEnded:
    kind = events_pb2.SessionEnded if event.type == _ENDED else events_pb2.ApiKeyChanged
    try:
        return kind.FromString(event.payload)
    except DecodeError as error:
        raise InvalidMessage("UNDECODABLE", str(error), event=event) from error
