"""A consumer on a thread of its own."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.chassis.consumer import Consumer
from services.chassis.consumer_thread import ConsumerThread
from services.chassis.events import Event
from tests.unit.chassis.consumers import Bench, records


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
