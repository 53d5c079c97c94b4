"""The sample page in a browser context of its own; its console stays empty: no error, no violation of the policy."""

from collections.abc import AsyncIterator

import pytest_asyncio
from playwright.async_api import Browser, Page

from tests.dashboard.components.sample_page import ADDRESS, answer


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser) -> AsyncIterator[Page]:
    """The sample page in English and the time of Tokyo. Fails the test if the console is not empty at its end."""
    context = await browser.new_context(
        timezone_id="Asia/Tokyo", locale="en-GB", permissions=["clipboard-read", "clipboard-write"]
    )
    await context.route(f"{ADDRESS}/**", answer)
    page, said = await context.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    await page.goto(ADDRESS)
    yield page
    await context.close()
    assert said == []
