"""A long loop gives all its items, and lets others have their turn."""

import asyncio

import pytest

from services.chassis.turns import in_turns


@pytest.mark.parametrize(("seconds", "expected"), [(0, {1, 2, 3, 4, 5, 6}), (3600, {6})])
async def test_others_have_a_turn_after_so_much_time(seconds: float, expected: set[int]) -> None:
    seen: dict[int, bool] = {}
    turns: set[int] = set()

    async def other() -> None:
        while len(seen) < 6:
            await asyncio.sleep(0)
            turns.add(len(seen))

    task = asyncio.create_task(other())
    await asyncio.sleep(0)
    async for item in in_turns(range(6), seconds):
        seen[item] = True
    await task
    assert list(seen) == [0, 1, 2, 3, 4, 5]
    assert turns == expected
