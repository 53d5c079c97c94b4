"""Remembers what was made of a value that never changes: the bytes of a document, say."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
S = TypeVar("S")
V = TypeVar("V")


LARGE = 16 * 1024
"""What is larger is made anew each time: a few thousand long prompts would fill the memory."""


class Memo(Generic[K, V]):
    """At most `capacity` results; the oldest goes first. What is made for a key must always be the same."""

    def __init__(self, capacity: int = 5_000) -> None:
        self._made: dict[K, V] = {}
        self._capacity = capacity

    def get(self, key: K, make: Callable[[S], V], source: S, *, size: int) -> V:
        """What was made for the key, or is made of the source now; `size` says how large it is, in bytes or letters."""
        if size > LARGE:
            return make(source)
        found = self._made.get(key)
        if found is not None:
            return found
        made = make(source)
        if len(self._made) >= self._capacity:
            del self._made[next(iter(self._made))]
        self._made[key] = made
        return made
