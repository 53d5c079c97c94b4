"""Turns of the organisations at pages, which may take much memory."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from aiohttp import web
from google.protobuf.message import Message

from services.chassis.fair_turns import FairTurns

T = TypeVar("T")

Call = Callable[[], Awaitable[Message]]
# response message -> what a caller in this process takes
RenderAs = Callable[[Any], Awaitable[T]]
# response message -> HTTP response
Render = RenderAs[web.StreamResponse]

SHORT_BYTES = 256 * 1024
SHORT_PAGES = 20
KNOWN_ORGS = 10_000
# About what a request takes that waits for its call.
REQUEST_BYTES = 4096
HELD_PER_ORG, HELD = 64 * 1024**2, 128 * 1024**2


class PageTurns:
    """Pages of one service, whose messages may have 16 MiB: an organisation has four of them under way at once, from
    the call to the JSON. After SHORT_PAGES short ones its pages take no turns, until one is long.
    """

    def __init__(self, *, held_per_org: int = HELD_PER_ORG) -> None:
        self._turns = FairTurns(32, per_org=4, waiting_per_org=held_per_org, waiting=HELD)
        # How many of its last pages were short, by organisation; the most recently served comes last.
        self._short: OrderedDict[str, int] = OrderedDict()

    async def respond(self, org_id: str, call: Call, render: RenderAs[T]) -> T:
        """The page as it is rendered.

        Raises:
            ResourceExhausted: too much waits for turns.
            Unavailable: too much waits for turns.
        """
        if self._short.get(org_id, 0) < SHORT_PAGES:
            async with self._turns.take(org_id, REQUEST_BYTES):
                message = await call()
                self._learn(org_id, message.ByteSize())
                return await render(message)
        # A short history lets the call begin without a turn; if its page is long after all, the rendering takes one.
        message = await call()
        size = message.ByteSize()
        self._learn(org_id, size)
        if size <= SHORT_BYTES:
            return await render(message)
        async with self._turns.take(org_id, size):
            return await render(message)

    def _learn(self, org_id: str, size: int) -> None:
        short = self._short.pop(org_id, 0)
        self._short[org_id] = min(short + 1, SHORT_PAGES) if size <= SHORT_BYTES else 0
        if len(self._short) > KNOWN_ORGS:
            self._short.popitem(last=False)
