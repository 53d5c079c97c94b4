"""Chromium on the shared stack: each test has an organisation and a browser profile of its own."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright

from deploy.devices.hubs import CHROMIUM_ARGUMENTS, chromium
from tests.e2e.client import Api
from tests.e2e.conftest import *  # noqa: F403 - the fixtures of organisations
from tests.shared_infrastructure import SharedStack

AXE = Path(__file__).parents[2] / "build/tools/axe/node_modules/axe-core/axe.min.js"


@dataclass
class Visitor:
    """Somebody with a browser: what is wrong on a page (errors of scripts, violations of the policy) is collected."""

    page: Page
    url: str
    key: str
    problems: list[str] = field(default_factory=list)

    async def open(self, path: str) -> None:
        """Go to a page, and wait until its scripts have started."""
        await self.page.goto(f"{self.url}{path}", wait_until="networkidle")

    async def sign_in(self) -> None:
        """Sign in with the key of the organisation."""
        await self.open("/sign-in")
        await self.page.get_by_label("API key").fill(self.key)
        await self.page.get_by_role("button", name="Sign in").click()
        await self.page.wait_for_url(f"{self.url}/")

    async def violations(self) -> list[str]:
        """What axe-core calls serious or critical on the page."""
        await self.page.evaluate(AXE.read_text())
        found = await self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{each['id']}: {node['html'][:200]}"
            for each in found["violations"]
            if each["impact"] in ("serious", "critical")
            for node in each["nodes"]
        ]


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    """A headless Chromium, that of Debian."""
    program = chromium()
    assert program, "the dashboard's tests need chromium; on Debian: apt-get install chromium"
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=list(CHROMIUM_ARGUMENTS))
        yield browser
        await browser.close()


@pytest.fixture
async def visitor(browser: Browser, stack: SharedStack, api: Api) -> AsyncIterator[Visitor]:
    """Somebody who has not signed in yet. Whatever goes wrong in the browser meanwhile fails the test."""
    context = await browser.new_context(
        viewport={"width": 1280, "height": 800}, locale="en-GB", timezone_id="Europe/Rome"
    )
    visitor = Visitor(await context.new_page(), stack.url, str(api.key))

    def report(message: ConsoleMessage) -> None:
        if message.type == "error" and "status of 4" not in message.text:
            visitor.problems.append(message.text)

    visitor.page.on("console", report)
    visitor.page.on("pageerror", lambda error: visitor.problems.append(str(error)))
    yield visitor
    await context.close()
    assert visitor.problems == []
