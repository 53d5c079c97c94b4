"""Locks by key."""

import asyncio

from services.chassis.keyed_locks import KeyedLocks


async def test_the_same_key_excludes_and_other_keys_do_not() -> None:
    locks: KeyedLocks[str] = KeyedLocks()
    entered: list[str] = []

    async def enter(name: str, key: str) -> None:
        async with locks[key]:
            entered.append(name)

    async with locks["a"]:
        waiting = asyncio.create_task(enter("second", "a"))
        await asyncio.create_task(enter("other", "b"))
        assert entered == ["other"]
    await waiting
    assert entered == ["other", "second"]


async def test_an_unused_key_has_no_lock() -> None:
    locks: KeyedLocks[int] = KeyedLocks()
    for key in range(100):
        async with locks[key]:
            assert len(locks) == 1
    assert len(locks) == 0
