"""Chromium on the shared stack: each test has an organisation and a browser profile of its own.

The tests of a pytest-xdist worker share a browser, and therefore its event loop with all their fixtures.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright, expect

from deploy.devices.hubs import CHROMIUM_ARGUMENTS, chromium
from tests.dashboard.proxy import Proxy, serve_proxy
from tests.e2e.client import Api
from tests.e2e.conftest import fresh_key, world  # noqa: F401 - a fixture
from tests.e2e.test_gate import Ci
from tests.e2e.world import World
from tests.shared_infrastructure import SharedStack

expect.set_options(timeout=30_000)  # what is expected ends the wait; the default of 5 s is too short for a busy machine
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
        await self.page.goto(f"{self.url}{path}")

    async def sign_in(self) -> None:
        """Begin a session with the key of the organisation, as the page to sign in does."""
        answer = await self.page.context.request.post(f"{self.url}/session", data={"key": self.key})
        assert answer.status == 204, await answer.text()

    async def violations(self) -> list[str]:
        """What axe-core calls serious or critical on the page."""
        if not await self.page.evaluate("'axe' in window"):
            await self.page.evaluate(AXE.read_text())
        results = await self.page.evaluate("axe.run(document, {resultTypes: ['violations'], preload: false})")
        return [
            f"{each['id']}: {node['html'][:200]}"
            for each in results["violations"]
            if each["impact"] in ("serious", "critical")
            for node in each["nodes"]
        ]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(loop_scope="session")
async def api(stack: SharedStack) -> AsyncIterator[Api]:
    """A client of a fresh organisation, with every scope."""
    async with Api(stack.url, await fresh_key(stack, "Test")) as api:
        yield api


@pytest_asyncio.fixture(loop_scope="session")
async def anonymous(stack: SharedStack) -> AsyncIterator[Api]:
    """A client without a key."""
    async with Api(stack.url, None) as api:
        yield api


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """A headless Chromium, that of Debian."""
    program = chromium()
    assert program, "the dashboard's tests need chromium; on Debian: apt-get install chromium"
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=list(CHROMIUM_ARGUMENTS))
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
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


@pytest_asyncio.fixture(loop_scope="session")
async def member(visitor: Visitor) -> Visitor:
    """The visitor, signed in."""
    await visitor.sign_in()
    return visitor


@pytest_asyncio.fixture(loop_scope="session")
async def ci(world: World) -> Ci:  # noqa: F811 (the fixture)
    return await Ci(world)()


@pytest_asyncio.fixture(loop_scope="session")
async def proxy(visitor: Visitor) -> AsyncIterator[Proxy]:
    """The network over which the visitor reaches the gateway."""
    async with serve_proxy(visitor.url) as proxy:
        visitor.url = proxy.url
        yield proxy
        await visitor.page.goto("about:blank")
