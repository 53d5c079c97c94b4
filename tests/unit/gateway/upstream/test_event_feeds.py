"""Followers of the same execution share an upstream call."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from mobiletest.executor.v1 import executions_pb2

from services.chassis.context import Caller
from services.chassis.errors import NotFound, Unavailable
from services.gateway.upstream.event_feeds import DELIVERED_AT_ONCE, KEPT_BYTES, EventFeed, EventFeeds

CALLER = Caller("org")
Request = executions_pb2.WatchExecutionRequest
Event = executions_pb2.ExecutionEvent
NOTICE = Event(steps=executions_pb2.StepsNotice(run_ids=["run"]))


class FakeCall:
    """An upstream call whose events the test sends."""

    def __init__(self, request: Any) -> None:
        self.request = request
        self.events: asyncio.Queue[int | Event | Exception | None] = asyncio.Queue()
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True

    async def __aiter__(self) -> AsyncIterator[Any]:
        while (event := await self.events.get()) is not None:
            if isinstance(event, Exception):
                raise event
            yield event if isinstance(event, Event) else Event(sequence=event)


class World:
    """Feeds over fake calls; an event is encoded as its number and as many bytes as `size`, a heartbeat as nothing."""

    def __init__(self, size: int = 0, silence: float = 60) -> None:
        self.calls: list[FakeCall] = []
        self.closing = asyncio.Event()
        self.encoded = 0
        self._size = size
        self.feeds = EventFeeds(self._call, self._encode, self.closing, timeout=60, silence=silence)

    def _call(self, request: Any, timeout: float) -> FakeCall:
        self.calls.append(FakeCall(request))
        return self.calls[-1]

    def _encode(self, event: Any) -> bytes:
        if not event.sequence and not event.HasField("steps"):
            return b""
        self.encoded += 1
        return b"%d;" % event.sequence + b"x" * self._size

    def join(self, after: int = 0, caller: Caller = CALLER, execution_id: str = "a") -> Any:
        return self.feeds.join(Request(execution_id=execution_id, after_sequence=after), after, caller)


def refuse(text: bytes) -> bool:
    """A client that has not read what came before."""
    return False


def taken(feed: EventFeed, after: int = 0) -> bytes:
    return feed.take(feed.place(after, refuse))


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 (tasks of this loop)
            await asyncio.sleep(0)


async def test_a_notice_is_passed_on_and_nobody_comes_back_for_it() -> None:
    world = World(size=1)
    with world.join() as feed:
        await until(lambda: world.calls)
        for event in (5, NOTICE, 6):
            world.calls[0].events.put_nowait(event)
        await until(lambda: world.encoded == 3)
        place = feed.place(0, refuse)
        assert (feed.take(place), place.after) == (b"5;x0;x6;x", 6)
        assert taken(feed, after=5) == b"6;x"


async def test_followers_share_a_call_and_an_event_is_encoded_once() -> None:
    world = World()
    with world.join() as first, world.join() as second:
        assert first is second
        await until(lambda: world.calls)
        world.calls[0].events.put_nowait(1)
        await until(lambda: world.encoded)
        assert taken(first) == b"1;"
    assert (len(world.calls), world.encoded) == (1, 1)


async def test_a_feed_ends_when_its_service_sends_no_heartbeat() -> None:
    """So a follower that gets heartbeats has a feed that lives."""
    world = World(silence=0.2)
    with world.join() as feed:
        await until(lambda: world.calls)
        assert world.calls[0].request.heartbeats
        await until(lambda: feed.ended)
    assert isinstance(feed.error, Unavailable)
    assert world.calls[0].is_cancelled


async def test_heartbeats_of_the_service_are_not_passed_on() -> None:
    world = World()
    with world.join() as feed:
        await until(lambda: world.calls)
        for number in (0, 1, 0, None):
            world.calls[0].events.put_nowait(number)
        await until(lambda: feed.ended)
        assert (feed.error, taken(feed)) == (None, b"1;")


async def test_a_client_that_cannot_be_written_to_delays_no_other() -> None:
    """Its own task writes to it, and gets the error."""

    def fail(text: bytes) -> bool:
        raise RuntimeError("closed")

    world, received = World(), bytearray()
    with world.join() as feed:
        for push in (fail, lambda text: not received.extend(text)):
            follower = asyncio.create_task(feed.wait(feed.place(0, push), 60))
            follower.add_done_callback(lambda done: done.result())
        await until(lambda: world.calls)
        for number in (1, 2):
            world.calls[0].events.put_nowait(number)
            await until(lambda number=number: received.endswith(b"%d;" % number))  # type: ignore[misc]
        world.calls[0].events.put_nowait(None)
        await until(lambda: feed.ended)


async def test_other_executions_and_organisations_have_calls_of_their_own() -> None:
    world = World()
    with world.join(), world.join(execution_id="b"), world.join(caller=Caller("other")):
        await until(lambda: len(world.calls) == 3)


async def test_a_late_follower_gets_the_events_after_its_last_one() -> None:
    world = World()
    with world.join() as feed:
        await until(lambda: world.calls)
        for number in (1, 3, 5):
            world.calls[0].events.put_nowait(number)
        await until(lambda: world.encoded == 3)
        with world.join(after=3) as later:
            assert later is feed
            assert taken(later, after=3) == b"5;"


async def test_a_follower_of_older_events_gets_another_call() -> None:
    world = World()
    with world.join(after=7), world.join(after=4):
        await until(lambda: len(world.calls) == 2)
    assert [call.request.after_sequence for call in world.calls] == [7, 4]


async def test_events_that_are_no_longer_kept_are_missed_by_no_follower() -> None:
    world = World(size=KEPT_BYTES // 2)
    with world.join() as feed:
        beginning = feed.place(0, refuse)
        await until(lambda: world.calls)
        for number in (1, 2, 3):
            world.calls[0].events.put_nowait(number)
        await until(lambda: world.encoded == 3 and feed.start)
        with pytest.raises(LookupError):
            feed.take(beginning)
        with world.join(after=0) as other:
            assert other is not feed


async def test_the_call_is_cancelled_with_its_last_follower() -> None:
    world = World()
    with world.join():
        with world.join():
            await until(lambda: world.calls)
        await asyncio.sleep(0)
        assert not world.calls[0].is_cancelled
    await until(lambda: world.calls[0].is_cancelled)
    with world.join():
        await until(lambda: len(world.calls) == 2)
    assert world.feeds.followers == 0


@pytest.mark.parametrize("error", [None, NotFound("Execution not found")])
async def test_all_followers_learn_how_a_call_ended(error: Exception | None) -> None:
    world = World()
    with world.join() as feed:
        await until(lambda: world.calls)
        waiting = asyncio.create_task(feed.wait(feed.place(0, refuse), 60))
        world.calls[0].events.put_nowait(error)
        assert await waiting
        assert (feed.ended, feed.error) == (True, error)


async def test_closing_ends_all_feeds_and_keeps_the_number_of_followers() -> None:
    world = World()
    with world.join() as feed:
        await until(lambda: world.calls)
        world.closing.set()
        await until(lambda: feed.ended)
        assert feed.error is None
    assert world.feeds.followers == 1


async def test_events_are_pushed_in_order_to_all_that_wait() -> None:
    """Also those that come while an earlier one is being delivered; each follower is at another place then."""
    feed = EventFeed(0)
    received: list[list[bytes]] = [[] for _ in range(2 * DELIVERED_AT_ONCE + 1)]
    pushes = [lambda text, each=each: each.append(text) or True for each in received]  # type: ignore[misc]
    waiting = [asyncio.create_task(feed.wait(feed.place(0, push), 60)) for push in pushes]
    await asyncio.sleep(0)
    for number in (1, 2, 3):
        feed.add(number, b"%d;" % number)
        await asyncio.sleep(0)
    await until(lambda: all(b"".join(each) == b"1;2;3;" for each in received))
    assert not any(task.done() for task in waiting)
    feed.end(None)
    assert all(await asyncio.gather(*waiting))


async def test_a_slow_follower_is_woken_and_misses_no_event() -> None:
    feed = EventFeed(0)
    place = feed.place(0, refuse)
    waiting = asyncio.create_task(feed.wait(place, 60))
    await asyncio.sleep(0)
    feed.add(7, b"7;")
    assert await waiting
    assert (feed.take(place), place.after) == (b"7;", 7)
    assert feed.take(place) == b""


async def test_a_follower_waits_no_longer_than_it_wants() -> None:
    feed = EventFeed(0)
    assert not await feed.wait(feed.place(0, refuse), 0)


def test_an_event_larger_than_what_is_kept_can_be_taken() -> None:
    feed = EventFeed(0)
    feed.add(1, b"x" * 2 * KEPT_BYTES)
    assert taken(feed) == b"x" * 2 * KEPT_BYTES
