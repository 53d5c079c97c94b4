"""One upstream call for all followers of the same thing in this process: each event is received and encoded once.

A feed keeps its newest events, so that whoever follows later or reads slowly is served from them. A follower that needs
older ones gets another feed, which begins where the follower is.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from services.chassis import context
from services.chassis.context import Caller
from services.chassis.errors import Unavailable
from services.gateway.upstream.rpcs import Rpc

KEPT_BYTES = 64 * 1024
# A service sends a heartbeat more than twice as often. A feed without any ends, and its followers come back.
SILENCE_SECONDS = 12.0
# How many followers get an event before other requests have their turns: some 5 ms.
DELIVERED_AT_ONCE = 500

# Sends a text at once, or returns False if it has to wait.
Push = Callable[[bytes], bool]


class FeedPosition:
    """How far a follower has got in a feed."""

    def __init__(self, cursor: int, after: int, push: Push) -> None:
        self.cursor = cursor
        # The number of the last event that it has.
        self.after = after
        self.push = push


class EventFeed:
    """The events of one upstream call, encoded, from the number `start` on."""

    def __init__(self, after: int) -> None:
        # Events up to this number are not here: they came before, or are no longer kept.
        self.start = after
        # The number of the newest event. A notice has the number of the event before it: nobody comes back for it.
        self.last = after
        self.ended = False
        self.error: Exception | None = None
        self.followers = 0
        self._kept: deque[tuple[int, bytes]] = deque()
        self._kept_bytes = 0
        self._dropped = 0
        self._waiting: dict[FeedPosition, asyncio.Future[bool]] = {}
        self._is_delivering = False
        # The text of all events from a place on, which is the same for most followers.
        self._news: tuple[int, bytes] = (0, b"")

    def place(self, after: int, push: Push) -> FeedPosition:
        """The place of the first event with a higher number."""
        return FeedPosition(self._dropped + sum(number <= after for number, _ in self._kept), after, push)

    def take(self, place: FeedPosition) -> bytes:
        """The text of the events from this place on, which moves behind them; nothing when there are none.

        Raises:
            LookupError: some of them are no longer kept.
        """
        if place.cursor < self._dropped:
            raise LookupError(place.cursor)
        cursor, text = self._news
        if cursor != place.cursor or not text:
            text = b"".join([text for _, text in islice(self._kept, place.cursor - self._dropped, None)])
            self._news = (place.cursor, text)
        if text:
            place.cursor, place.after = self._dropped + len(self._kept), self._kept[-1][0]
        return text

    async def wait(self, place: FeedPosition, seconds: float) -> bool:
        """Until the feed ends or has events that cannot be pushed; events that can be are meanwhile.

        False when that takes more than so many seconds.
        """
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        self._waiting[place] = waiter
        timer = loop.call_later(seconds, _resolve, waiter, False)
        try:
            return await waiter
        finally:
            timer.cancel()
            del self._waiting[place]

    def add(self, number: int, text: bytes) -> None:
        self._news = (0, b"")
        self.last = number
        self._kept.append((number, text))
        self._kept_bytes += len(text)
        while self._kept_bytes > KEPT_BYTES and len(self._kept) > 1:
            self.start, dropped = self._kept.popleft()
            self._kept_bytes -= len(dropped)
            self._dropped += 1
        self._announce()

    def end(self, error: Exception | None) -> None:
        self.ended, self.error = True, error
        self._announce()

    def _announce(self) -> None:
        if not self._is_delivering and self._waiting:
            self._is_delivering = True
            asyncio.get_running_loop().call_soon(self._deliver, list(self._waiting))

    def _deliver(self, places: list[FeedPosition]) -> None:
        """To some of these; other requests have their turns before the rest, and before what has come since."""
        for _ in range(min(DELIVERED_AT_ONCE, len(places))):
            place = places.pop()
            waiter = self._waiting.get(place)
            if waiter is not None and (self.ended or not self._push(place)):
                _resolve(waiter, True)
        places = places or [place for place in self._waiting if self._has_news(place)]
        self._is_delivering = bool(places)
        if places:
            asyncio.get_running_loop().call_soon(self._deliver, places)

    def _has_news(self, place: FeedPosition) -> bool:
        return not self._waiting[place].done() and (self.ended or place.cursor < self._dropped + len(self._kept))

    def _push(self, place: FeedPosition) -> bool:
        before = (place.cursor, place.after)
        try:
            text = self.take(place)
            if not text or place.push(text):
                return True
        except Exception:  # its own task takes the text, and gets the error; the others are still to be served
            place.cursor, place.after = before
            return False
        place.cursor, place.after = before
        return False


class EventFeeds:
    """The feeds of one RPC whose request has `after_sequence` and `heartbeats` and whose messages have a `sequence`.

    A message without a sequence is a heartbeat, of which nothing is encoded, or a notice, which is not repeated.
    """

    def __init__(
        self,
        rpc: Rpc,
        encode: Callable[[Any], bytes],
        closing: asyncio.Event,
        *,
        timeout: float,
        silence: float = SILENCE_SECONDS,
    ) -> None:
        """`timeout` limits each upstream call, `silence` the time without a message; `closing` ends all feeds."""
        self._rpc = rpc
        self._encode = encode
        self._closing = closing
        self._timeout = timeout
        self._silence = silence
        self._feeds: defaultdict[tuple[str, bytes], list[EventFeed]] = defaultdict(list)
        self._tasks: dict[EventFeed, asyncio.Task[None]] = {}
        # How many follow something, or did when the process began to stop.
        self.followers = 0

    @contextmanager
    def join(self, request: Any, after: int, caller: Caller) -> Iterator[EventFeed]:
        """Inside the block, a feed that has all events after this number. Callers of an organisation share feeds."""
        feed = self._find(request, after, caller)
        feed.followers += 1
        self.followers += 1
        try:
            yield feed
        finally:
            feed.followers -= 1
            # When the process stops, all leave at once; the number tells each how long to wait before it comes back.
            self.followers -= not self._closing.is_set()
            if not feed.followers and (task := self._tasks.get(feed)) is not None:
                task.cancel()

    def _find(self, request: Any, after: int, caller: Caller) -> EventFeed:
        wanted = type(request)()
        wanted.CopyFrom(request)
        wanted.ClearField("after_sequence")
        wanted.heartbeats = True
        key = (caller.org_id, wanted.SerializeToString(deterministic=True))
        for feed in self._feeds.get(key, ()):
            # A feed without followers is being cancelled.
            if feed.start <= after and feed.followers:
                return feed
        if after:
            wanted.after_sequence = after
        feed = EventFeed(after)
        self._feeds[key].append(feed)
        task = asyncio.create_task(self._run(feed, wanted, caller))
        self._tasks[feed] = task
        task.add_done_callback(lambda _: self._remove(key, feed))
        return feed

    def _remove(self, key: tuple[str, bytes], feed: EventFeed) -> None:
        del self._tasks[feed]
        self._feeds[key].remove(feed)
        if not self._feeds[key]:
            del self._feeds[key]

    async def _run(self, feed: EventFeed, request: Any, caller: Caller) -> None:
        """Receive until the end, an error or `closing`."""
        error: Exception | None = None
        try:
            with context.bind(caller), context.limit_time(self._timeout):
                call = self._rpc(request, timeout=self._timeout)
                try:
                    async for event in _until(self._closing, call, self._silence):
                        if event.sequence:
                            feed.add(event.sequence, self._encode(event))
                        elif notice := self._encode(event):
                            feed.add(feed.last, notice)
                finally:
                    call.cancel()
        except Exception as problem:
            error = problem
        finally:
            feed.end(error)


async def _until(closing: asyncio.Event, call: Any, silence: float) -> AsyncIterator[Any]:
    """The messages of the call, while the process is not being stopped. Unavailable after so much silence."""
    messages = aiter(call)
    stopped = asyncio.ensure_future(closing.wait())
    pending = asyncio.ensure_future(anext(messages))
    try:
        while not stopped.done():
            done, _ = await asyncio.wait({pending, stopped}, timeout=silence, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                raise Unavailable("The service stopped sending events, try again", reason="UPSTREAM_SILENT")
            if pending.done():
                yield pending.result()
                pending = asyncio.ensure_future(anext(messages))
    except StopAsyncIteration:
        return
    finally:
        pending.cancel()
        stopped.cancel()


def _resolve(waiter: asyncio.Future[bool], result: bool) -> None:
    if not waiter.done():
        waiter.set_result(result)
