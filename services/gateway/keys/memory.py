"""What is remembered of keys: for a short time, within bounds, and never a deleted one."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

from services.gateway.keys.holders import Holder

V = TypeVar("V")

VALID_SECONDS = 30.0
REFUSED_SECONDS = 5.0
MOST = 20_000


class Bounded(Generic[V]):
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
class Remembered:
    """An answer of the catalog: a holder, or the reason (INVALID_API_KEY, API_KEY_EXPIRED) why there is none."""

    holder: Holder | None
    reason: str
    until: float


class KeyMemory:
    """By the fingerprint of a key, what the catalog said of it. Times are those of a monotonic clock, in seconds."""

    def __init__(self, most: int = MOST) -> None:
        self._valid: Bounded[Remembered] = Bounded(most)
        self._refused: Bounded[Remembered] = Bounded(most)
        self._fingerprints: Bounded[bytes] = Bounded(most)
        self._deleted: Bounded[bool] = Bounded(most)

    def recall(self, fingerprint: bytes, now: float) -> Remembered | None:
        """What is still to be believed, if anything."""
        found = self._valid.get(fingerprint) or self._refused.get(fingerprint)
        return found if found is not None and now < found.until else None

    def accept(self, fingerprint: bytes, holder: Holder, now: float) -> bool:
        """Remember a valid key for 30 s. False when it was deleted while the catalog was being asked."""
        key_id = holder.key_id.encode()
        if self._deleted.get(key_id):
            return False
        self._refused.remove(fingerprint)
        self._valid.put(fingerprint, Remembered(holder, "", now + VALID_SECONDS))
        self._fingerprints.put(key_id, fingerprint)
        return True

    def refuse(self, fingerprint: bytes, reason: str, now: float) -> None:
        """Remember a refusal for 5 s."""
        self._valid.remove(fingerprint)
        self._refused.put(fingerprint, Remembered(None, reason, now + REFUSED_SECONDS))

    def forget(self, key_id: str) -> None:
        """The key is deleted: it is never accepted again, whatever an answer under way says."""
        id_ = key_id.encode()
        self._deleted.put(id_, value=True)
        fingerprint = self._fingerprints.get(id_)
        if fingerprint is not None:
            self._valid.remove(fingerprint)
            self._fingerprints.remove(id_)
