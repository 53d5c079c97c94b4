"""A cache for functions of the texts on a screen."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

R = TypeVar("R")

ENTRIES = 8_192
# Longer texts are not kept: the cache outlives the screen, and apps decide how long their texts are.
LENGTH_LIMIT = 500


def cache_short_texts(function: Callable[[str], R]) -> Callable[[str], R]:
    """Remember the results for the most recently used texts that are short."""
    cached = lru_cache(maxsize=ENTRIES)(function)

    @wraps(function)
    def call(text: str) -> R:
        return cached(text) if len(text) <= LENGTH_LIMIT else function(text)

    return call
