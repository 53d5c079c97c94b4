"""A long loop gives all its items, and lets others have their turn."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any, TypeVar

import pytest

from services.chassis.context import Caller, bind
from services.chassis.turns import in_turns, list_in_turns, sorted_in_turns

T = TypeVar("T")


def noting(notes: list[T], items: Iterable[T]) -> Iterator[int]:
    for number, item in enumerate(items):
        notes.append(item)
        yield number


async def loop_over(items: Iterable[int], seconds: float) -> list[int]:
    return [item async for item in in_turns(items, seconds)]


LOOPS = pytest.mark.parametrize("loop", [loop_over, list_in_turns])
Loop = Callable[[Iterable[int], float], Coroutine[Any, Any, list[int]]]


@LOOPS
@pytest.mark.parametrize(("seconds", "expected"), [(0, {1, 2, 3, 4, 5, 6}), (3600, {6})])
async def test_others_have_a_turn_after_so_much_time(loop: Loop, seconds: float, expected: set[int]) -> None:
    seen: list[int] = []
    turns: set[int] = set()

    async def other() -> None:
        while len(seen) < 6:
            await asyncio.sleep(0)
            turns.add(len(seen))

    task = asyncio.create_task(other())
    await asyncio.sleep(0)
    assert await loop(noting(seen, range(6)), seconds) == seen == [0, 1, 2, 3, 4, 5]
    await task
    assert turns == expected


@LOOPS
async def test_another_organisation_waits_for_one_loop_of_many(loop: Loop) -> None:
    order: list[str] = []

    def start(org: str, times: int) -> asyncio.Task[list[int]]:
        with bind(Caller(org)):
            return asyncio.create_task(loop(noting(order, [org] * times), 0))

    crowd = [start("crowd", 100) for _ in range(20)]
    await asyncio.sleep(0)
    another = start("another", 50)
    await asyncio.wait([another])
    assert order.count("crowd") <= 20 + 2 * 50
    assert [each.done() for each in crowd] == [False] * 20
    await asyncio.wait(crowd)
    assert [await each for each in crowd] == [list(range(100))] * 20


@LOOPS
async def test_a_loop_that_is_cancelled_holds_up_no_other(loop: Loop) -> None:
    tasks = [asyncio.create_task(loop(range(10), 0)) for _ in range(3)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    tasks[1].cancel()
    await asyncio.wait(tasks)
    assert [each.cancelled() for each in tasks] == [True, True, False]
    assert tasks[2].result() == list(range(10))


@pytest.mark.parametrize("count", [0, 1, 5, 6, 17])
async def test_many_items_are_sorted_in_parts(count: int) -> None:
    items = [(number * 7 % 5, number) for number in range(count)]
    sorting, turns = asyncio.create_task(sorted_in_turns(items, key=lambda item: item[0], at_once=5)), 0
    while not sorting.done():
        await asyncio.sleep(0)
        turns += 1
    assert sorting.result() == sorted(items, key=lambda item: item[0])
    assert turns >= count // 5
