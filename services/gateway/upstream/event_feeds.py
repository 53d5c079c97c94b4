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
from services.gateway.upstream.rpcs import Rpc

KEPT_BYTES = 64 * 1024


class EventFeed:
    """The events of one upstream call, encoded, from the number `start` on."""

    def __init__(self, after: int) -> None:
        self.start = after
        """Events up to this number are not here: they came before, or are no longer kept."""
        self.ended = False
        self.error: Exception | None = None
        self.news = asyncio.Event()
        """Set at the next change; another one takes its place then."""
        self.followers = 0
        self._kept: deque[tuple[int, bytes]] = deque()
        self._kept_bytes = 0
        self._dropped = 0

    def cursor(self, after: int) -> int:
        """The place of the first event with a higher number."""
        return self._dropped + sum(number <= after for number, _ in self._kept)

    def take(self, cursor: int) -> tuple[int, int, bytes] | None:
        """The events from this place on: the next place, the number of the last one, and their text.

        None when there are none. LookupError when some of them are no longer kept.
        """
        if cursor < self._dropped:
            raise LookupError(cursor)
        found = list(islice(self._kept, cursor - self._dropped, None))
        if not found:
            return None
        return cursor + len(found), found[-1][0], b"".join([text for _, text in found])

    def add(self, number: int, text: bytes) -> None:
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
        self.news.set()
        self.news = asyncio.Event()


class EventFeeds:
    """The feeds of one RPC whose request has `after_sequence` and whose messages have a `sequence`."""

    def __init__(self, rpc: Rpc, encode: Callable[[Any], bytes], closing: asyncio.Event, *, timeout: float) -> None:
        """`timeout` limits each upstream call; `closing` ends all feeds."""
        self._rpc = rpc
        self._encode = encode
        self._closing = closing
        self._timeout = timeout
        self._feeds: defaultdict[tuple[str, bytes], list[EventFeed]] = defaultdict(list)
        self._tasks: dict[EventFeed, asyncio.Task[None]] = {}
        self.followers = 0
        """How many follow something, or did when the process began to stop."""

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
            self.followers -= not self._closing.is_set()
            if not feed.followers and (task := self._tasks.get(feed)) is not None:
                task.cancel()

    def _find(self, request: Any, after: int, caller: Caller) -> EventFeed:
        wanted = type(request)()
        wanted.CopyFrom(request)
        wanted.ClearField("after_sequence")
        key = (caller.org_id, wanted.SerializeToString(deterministic=True))
        for feed in self._feeds.get(key, ()):
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
                    async for event in _until(self._closing, call):
                        feed.add(event.sequence, self._encode(event))
                finally:
                    call.cancel()
        except Exception as problem:
            error = problem
        finally:
            feed.end(error)


async def _until(closing: asyncio.Event, call: Any) -> AsyncIterator[Any]:
    """The messages of the call, while the process is not being stopped."""
    messages = aiter(call)
    stopped = asyncio.ensure_future(closing.wait())
    pending = asyncio.ensure_future(anext(messages))
    try:
        while not stopped.done():
            await asyncio.wait({pending, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if pending.done():
                yield pending.result()
                pending = asyncio.ensure_future(anext(messages))
    except StopAsyncIteration:
        return
    finally:
        pending.cancel()
        stopped.cancel()
