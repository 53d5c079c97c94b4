"""A browser opens public pages only; it is told nothing of the others."""

import pytest

from mobiletest_automation.devices.port import AppUnderTest, DeviceFailure, LaunchOptions, LinkTarget
from mobiletest_automation.devices.webdriver.browser_app import BrowserApp
from mobiletest_automation.model.failures import Category
from mobiletest_automation.web_addresses import AddressPolicy
from tests.fakes.webdriver import FakeHub, fake_driver
from tests.unit.automation.attempts import fails

PRIVATE = "http://10.1.2.3/shop"


async def test_a_private_page_is_not_launched() -> None:
    hub = FakeHub()
    app = BrowserApp(fake_driver(hub), AppUnderTest(static_url=PRIVATE))
    with fails(Category.CONFIG_INVALID, r"the page cannot be opened: 10\.1\.2\.3 is not a public address"):
        await app.launch(LaunchOptions())
    with pytest.raises(DeviceFailure, match="the page cannot be opened"):
        await app.launch(LaunchOptions(app_id="http://localhost:8080/"))
    assert hub.asked == []


@pytest.mark.parametrize("link", [PRIVATE, "data:text/html,x", "about:blank", "shop://cart", "http://127.1/"])
async def test_links_that_are_not_public_pages_are_not_opened(link: str) -> None:
    hub = FakeHub()
    with fails(Category.SCRIPT_ERROR):
        await BrowserApp(fake_driver(hub), AppUnderTest()).open_link(link, LinkTarget.ANY)
    assert hub.asked == []


async def test_an_allowed_private_page_is_launched() -> None:
    hub = FakeHub({"GET /url": "about:blank", "POST /execute/sync": PRIVATE})
    app = BrowserApp(fake_driver(hub), AppUnderTest(static_url=PRIVATE), AddressPolicy.parse(["10.1.0.0/16"]))
    await app.launch(LaunchOptions())
    assert ("POST /url", {"url": PRIVATE}) in hub.asked
