"""A long loop gives all its items, and lets others have their turn."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any, TypeVar

import pytest

from services.chassis import turns
from services.chassis.context import Caller, bind
from services.chassis.turns import (
    BURST_SECONDS,
    MOST_KEPT,
    SHARE,
    discard,
    in_turns,
    list_in_turns,
    pause,
    sorted_in_turns,
)

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
    seen_at: set[int] = set()

    async def other() -> None:
        while len(seen) < 6:
            await asyncio.sleep(0)
            seen_at.add(len(seen))

    task = asyncio.create_task(other())
    await asyncio.sleep(0)
    assert await loop(noting(seen, range(6)), seconds) == seen == [0, 1, 2, 3, 4, 5]
    await task
    assert seen_at == expected


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
    sorting, rounds = asyncio.create_task(sorted_in_turns(items, key=lambda item: item[0], at_once=5)), 0
    while not sorting.done():
        await asyncio.sleep(0)
        rounds += 1
    assert sorting.result() == sorted(items, key=lambda item: item[0])
    assert rounds >= count // 5


async def test_an_organisation_that_has_worked_for_long_rests_for_as_long() -> None:
    """So that its share is what is left to it; others go on at once, and so does one that has not used up its burst."""
    order: list[str] = []

    async def work(org: str, worked: float, times: int) -> None:
        with bind(Caller(org)):
            for _ in range(times):
                await pause(worked)
        order.append(org)

    await asyncio.gather(
        work("crowd", BURST_SECONDS + 0.1 * SHARE, 1), work("another", 0.001, 10), work("burst", BURST_SECONDS / 2, 1)
    )
    assert sorted(order[:2]) == ["another", "burst"]
    assert order[2:] == ["crowd"]


async def test_organisations_that_are_idle_are_forgotten() -> None:
    for number in range(2 * MOST_KEPT):
        with bind(Caller(f"org-{number}")):
            await pause()
    assert len(turns._loops) <= MOST_KEPT


async def test_rows_are_freed_in_turns() -> None:
    rows, by_key = list(range(50_000)), dict.fromkeys(range(50_000))
    discarding, rounds = asyncio.create_task(discard(rows, by_key, (1, 2))), 0
    while not discarding.done():
        await asyncio.sleep(0)
        rounds += 1
    await discarding
    assert (rows, by_key) == ([], {})
    assert rounds > 3
