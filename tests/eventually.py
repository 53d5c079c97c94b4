"""Waiting for something to become true or to end, without sleeping for a guessed time."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

T = TypeVar("T")


@overload
async def eventually(probe: Callable[[], Awaitable[T]], *, within: float = 60.0, every: float = 0.02) -> T: ...


@overload
async def eventually(probe: Callable[[], T], *, within: float = 60.0, every: float = 0.02) -> T: ...


async def eventually(probe: Callable[[], object], *, within: float = 60.0, every: float = 0.02) -> object:
    """Call `probe` until its result is truthy and return that result.

    `probe` may be a function or a coroutine function. An AssertionError counts as "not yet"; when `within`
    seconds have passed, the last one (or a TimeoutError with the last result) is raised.
    """
    deadline = asyncio.get_running_loop().time() + within
    while True:
        failure: AssertionError | None = None
        result: object = None
        try:
            answer = probe()
            result = await answer if inspect.isawaitable(answer) else answer
        except AssertionError as error:
            failure = error
        if failure is None and result:
            return result
        if asyncio.get_running_loop().time() >= deadline:
            raise failure or TimeoutError(f"still {result!r} after {within} s")
        await asyncio.sleep(every)


async def stop(task: "asyncio.Future[Any]") -> None:
    """Cancel the task until it has ended: PyMongo Async forgets a cancellation that comes while it connects."""
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=1)
