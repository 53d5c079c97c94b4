"""Work on a thread and an event loop of its own."""

import asyncio
import re
import threading

import pytest

from services.chassis import metrics
from services.chassis.loop_thread import LoopThread
from tests.eventually import eventually


async def test_the_work_runs_on_another_thread_and_loop() -> None:
    thread_and_loop: list[object] = []

    async def work() -> None:
        thread_and_loop.extend((threading.current_thread(), asyncio.get_running_loop()))

    await LoopThread("work", work).run()
    assert thread_and_loop[0] is not threading.current_thread()
    assert thread_and_loop[1] is not asyncio.get_running_loop()


async def test_an_error_of_the_work_is_raised() -> None:
    async def work() -> None:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        await LoopThread("work", work).run()


async def test_a_call_runs_on_the_thread_of_the_work() -> None:
    stopped, begun = asyncio.Event(), threading.Event()

    async def work() -> None:
        begun.set()
        await stopped.wait()

    thread = LoopThread("work", work)
    running = asyncio.create_task(thread.run())
    await asyncio.to_thread(begun.wait)
    thread.call(stopped.set)
    await running


async def test_the_lag_of_its_event_loop_is_measured() -> None:
    measured = re.compile(rb'mobiletest_event_loop_lag_seconds_count{thread="lagging"} [1-9]')

    async def work() -> None:
        await eventually(lambda: measured.search(metrics.render()))

    await LoopThread("lagging", work).run()


async def test_a_call_before_and_after_the_work_does_nothing() -> None:
    async def work() -> None:
        """Nothing to do."""

    thread, called = LoopThread("work", work), threading.Event()
    thread.call(called.set)
    await thread.run()
    thread.call(called.set)
    assert not called.is_set()


async def test_cancelling_cancels_the_work_and_waits_for_its_end() -> None:
    begun, ended = threading.Event(), threading.Event()

    async def work() -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    running = asyncio.create_task(LoopThread("work", work).run())
    await asyncio.to_thread(begun.wait)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended.is_set()


async def test_work_that_is_cancelled_as_it_begins_ends() -> None:
    running = asyncio.create_task(LoopThread("work", _endless).run())
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def _endless() -> None:
    await asyncio.Event().wait()
