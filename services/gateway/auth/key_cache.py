"""What is remembered of keys: for a short time, within bounds, and never a deleted one."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

from services.gateway.auth.api_keys import KeyHolder

V = TypeVar("V")

VALID_SECONDS = 30.0
INVALID_SECONDS = 5.0
MAX_KEYS = 20_000


class BoundedDict(Generic[V]):
    """A dictionary of at most `most` entries; the oldest go first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: OrderedDict[bytes, V] = OrderedDict()

    def get(self, key: bytes) -> V | None:
        return self._entries.get(key)

    def put(self, key: bytes, value: V) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._most:
            self._entries.popitem(last=False)

    def remove(self, key: bytes) -> None:
        self._entries.pop(key, None)

    def __len__(self) -> int:
        return len(self._entries)


@dataclass(frozen=True, slots=True)
class CachedKey:
    """An answer of the catalog: a holder, or the reason (INVALID_API_KEY, API_KEY_EXPIRED) why there is none."""

    holder: KeyHolder | None
    reason: str
    until: float


class KeyCache:
    """By the fingerprint of a key, what the catalog said of it. Times are those of a monotonic clock, in seconds."""

    def __init__(self, most: int = MAX_KEYS) -> None:
        self._valid: BoundedDict[CachedKey] = BoundedDict(most)
        self._refused: BoundedDict[CachedKey] = BoundedDict(most)
        self._fingerprints: BoundedDict[bytes] = BoundedDict(most)
        self._deleted: BoundedDict[bool] = BoundedDict(most)

    def get(self, fingerprint: bytes, now: float) -> CachedKey | None:
        """What is still to be believed, if anything."""
        found = self._valid.get(fingerprint) or self._refused.get(fingerprint)
        return found if found is not None and now < found.until else None

    def put_valid(self, fingerprint: bytes, holder: KeyHolder, now: float) -> bool:
        """Remember a valid key for 30 s. False when it was deleted while the catalog was being asked."""
        key_id = holder.key_id.encode()
        if self._deleted.get(key_id):
            return False
        self._refused.remove(fingerprint)
        self._valid.put(fingerprint, CachedKey(holder, "", now + VALID_SECONDS))
        self._fingerprints.put(key_id, fingerprint)
        return True

    def put_invalid(self, fingerprint: bytes, reason: str, now: float) -> None:
        """Remember a refusal for 5 s."""
        self._valid.remove(fingerprint)
        self._refused.put(fingerprint, CachedKey(None, reason, now + INVALID_SECONDS))

    def revoke(self, key_id: str) -> None:
        """The key is deleted: it is never accepted again, whatever an answer under way says."""
        id_ = key_id.encode()
        self._deleted.put(id_, value=True)
        fingerprint = self._fingerprints.get(id_)
        if fingerprint is not None:
            self._valid.remove(fingerprint)
            self._fingerprints.remove(id_)
