"""What a page of a browser loads."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import Browser, BrowserContext, CDPSession, Page

_CODE = ("Document", "Stylesheet", "Script")


@dataclass
class Weights:
    """What a page has loaded, in compressed bytes; `code`: HTML, CSS and JS; `kinds` are the kinds of its requests by
    their ids.
    """

    bytes: int = 0
    html: int = 0
    code: int = 0
    requests: int = 0
    kinds: dict[str, str] = field(default_factory=dict)


@asynccontextmanager
async def fresh_page(browser: Browser, context: BrowserContext, empty: str) -> AsyncIterator[Page]:
    """A page of a browser that has the session, nothing in its cache, and a window that has settled.

    Chromium loads pages of its own when a window opens, which would take the cores from ours.
    """
    fresh = await browser.new_context(storage_state=await context.storage_state())
    page = await fresh.new_page()
    await page.goto(empty, wait_until="networkidle")
    yield page
    await fresh.close()


async def watch(session: CDPSession, weights: Weights) -> None:
    """Add up what comes."""

    def begin(event: dict[str, object]) -> None:
        weights.kinds[str(event["requestId"])] = str(event["type"])

    def finish(event: dict[str, Any]) -> None:
        size, kind = int(event["encodedDataLength"]), weights.kinds.get(event["requestId"])
        weights.bytes += size
        weights.requests += 1
        if kind == "Document":
            weights.html = size
        if kind in _CODE:
            weights.code += size

    session.on("Network.responseReceived", begin)
    session.on("Network.loadingFinished", finish)
    await session.send("Network.enable")
