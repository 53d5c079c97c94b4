"""Caches what was computed from an immutable value, such as the bytes of a document."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
S = TypeVar("S")
V = TypeVar("V")


LARGE = 16 * 1024
"""Larger values are not cached: a few thousand long prompts would fill the memory."""


class Memo(Generic[K, V]):
    """At most `capacity` results, evicted oldest first. The result for a key must always be the same."""

    def __init__(self, capacity: int = 5_000) -> None:
        self._values: dict[K, V] = {}
        self._capacity = capacity

    def get(self, key: K, make: Callable[[S], V], source: S, *, size: int) -> V:
        """The cached result for the key, or `make(source)`; `size` is the source's size in bytes or characters."""
        if size > LARGE:
            return make(source)
        found = self._values.get(key)
        if found is not None:
            return found
        made = make(source)
        if len(self._values) >= self._capacity:
            del self._values[next(iter(self._values))]
        self._values[key] = made
        return made
