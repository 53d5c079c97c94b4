"""Remembers what was made of a value that never changes: a document of one id and revision, say."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Memo(Generic[K, V]):
    """At most `capacity` results; the oldest goes first. Only for keys that determine their result for ever."""

    def __init__(self, capacity: int = 20_000) -> None:
        self._made: dict[K, V] = {}
        self._capacity = capacity

    def get(self, key: K, make: Callable[[], V]) -> V:
        """What was made for the key, or is made now."""
        found = self._made.get(key)
        if found is not None:
            return found
        made = make()
        if len(self._made) >= self._capacity:
            del self._made[next(iter(self._made))]
        self._made[key] = made
        return made
