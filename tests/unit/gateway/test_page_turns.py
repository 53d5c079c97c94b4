"""How many pages of an organisation are under way at once."""

import asyncio

from aiohttp import web
from mobiletest.catalog.v1 import apps_pb2

from services.chassis.errors import ResourceExhausted
from services.gateway.page_turns import SHORT_BYTES, SHORT_PAGES, PageTurns
from tests.eventually import eventually

SHORT, LONG = b"[]", b"x" * (SHORT_BYTES + 1)


class Pages:
    """Asks for pages, which come when `come` is set."""

    def __init__(self, turns: PageTurns) -> None:
        self._turns = turns
        self.come = asyncio.Event()
        self.under_way = 0

    async def ask(self, org_id: str, body: bytes) -> web.StreamResponse:
        async def call() -> apps_pb2.ListAppsResponse:
            self.under_way += 1
            await self.come.wait()
            self.under_way -= 1
            return apps_pb2.ListAppsResponse(items=[apps_pb2.App(description=body.decode())])

        async def render(_: apps_pb2.ListAppsResponse) -> web.StreamResponse:
            await asyncio.sleep(0)
            return web.Response(body=body)

        return await self._turns.respond(org_id, call, render)

    async def learn(self, org_id: str, *bodies: bytes) -> None:
        """Pages one after the other."""
        self.come.set()
        for body in bodies:
            await self.ask(org_id, body)
        self.come.clear()


async def most_under_way(pages: Pages, *org_ids: str) -> int:
    """The number of calls when each of these has asked for ten pages."""
    asked = [asyncio.create_task(pages.ask(org_id, SHORT)) for org_id in org_ids for _ in range(10)]
    for _ in range(3):
        await asyncio.sleep(0)
    most = pages.under_way
    pages.come.set()
    await asyncio.gather(*asked)
    pages.come.clear()
    return most


async def test_an_organisation_whose_pages_are_not_known_to_be_short_takes_turns() -> None:
    pages = Pages(PageTurns())
    assert await most_under_way(pages, "a", "b") == 8
    await pages.learn("a", *[SHORT] * SHORT_PAGES)
    assert await most_under_way(pages, "a") == 10
    await pages.learn("a", *[SHORT] * SHORT_PAGES, LONG, *[SHORT] * (SHORT_PAGES - 1))
    assert await most_under_way(pages, "a") == 4


async def test_pages_that_are_long_all_at_once_are_bounded_while_they_wait() -> None:
    """None took a turn before its call, for all pages before were short."""
    pages = Pages(PageTurns(held_per_org=4 * len(LONG)))
    await pages.learn("a", *[SHORT] * SHORT_PAGES)
    asked = [asyncio.create_task(pages.ask("a", LONG)) for _ in range(10)]
    await eventually(lambda: pages.under_way == 10)
    pages.come.set()
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [isinstance(answer, ResourceExhausted) for answer in answers] == [*[False] * 7, *[True] * 3]
