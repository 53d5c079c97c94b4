"""A consumer on a thread of its own."""

import asyncio
import re
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from services.chassis import metrics
from services.chassis.consumer import Consumer
from services.chassis.consumer_thread import ConsumerThread, LoopThread
from services.chassis.events import Event
from tests.eventually import eventually
from tests.unit.chassis.consumers import Bench, records


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


def threaded(bench: Bench) -> ConsumerThread:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Consumer]:
        yield bench.made()

    return ConsumerThread(opened)


async def test_events_are_handled_on_another_thread() -> None:
    bench, threads = Bench(records("a", "b")), set[int]()

    async def handle(events: list[Event]) -> None:
        threads.add(threading.get_ident())
        bench.batches.append([event.id for event in events])

    bench.handler = handle
    await threaded(bench).run()
    assert bench.batches == [["a", "b"]]
    assert bench.member.committed == [0, 1]
    assert threading.get_ident() not in threads


async def test_a_consumer_that_is_stopped_before_it_is_opened_consumes_nothing() -> None:
    bench = Bench(records("a"))
    thread = threaded(bench)
    thread.stop()
    await thread.run()
    assert bench.batches == []


async def test_stopping_ends_a_consumer_that_waits() -> None:
    bench = Bench([])
    bench.capacity = lambda: 0
    thread, opened = threaded(bench), threading.Event()
    bench.member.on_pause = opened.set
    running = asyncio.create_task(thread.run())
    await asyncio.to_thread(opened.wait)
    await thread.check()
    thread.stop()
    await running
