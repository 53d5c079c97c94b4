"""Long loops that let other work of the event loop have its turn."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

T = TypeVar("T")

ITEMS_AT_ONCE = 200


async def in_turns(items: Iterable[T], at_once: int = ITEMS_AT_ONCE) -> AsyncIterator[T]:
    """The items; after each `at_once` of them others have a turn."""
    for number, item in enumerate(items, start=1):
        yield item
        if not number % at_once:
            await asyncio.sleep(0)
