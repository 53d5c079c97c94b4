"""A long loop gives all its items, and lets others have their turn."""

import asyncio

from services.chassis.turns import in_turns


async def test_others_have_a_turn_after_so_many_items() -> None:
    turns: list[int] = []
    seen: dict[int, bool] = {}

    async def other() -> None:
        while len(seen) < 6:
            turns.append(len(seen))
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    async for item in in_turns(range(6), 2):
        seen[item] = True
    await task
    assert list(seen) == [0, 1, 2, 3, 4, 5]
    assert {2, 4} <= set(turns)
