"""Whole attempts on the web shop in Chromium: in sentences, in commands, and one that fails."""

import io
from collections.abc import AsyncIterator

import pytest
from PIL import Image

from deploy.devices.hubs import Hub
from services.executor.automation.attempt import AttemptRequest, AttemptRunner
from services.executor.automation.devices.port import Build, Device, OnSession, Seed
from services.executor.automation.devices.webdriver.sessions import open_device
from services.executor.model.attempts import AttemptResult
from services.executor.model.failures import Category
from tests.devices.conftest import BROWSER, browser_target
from tests.fakes.devices import FakeEvidence

LOG_IN = ['Type "ada@example.com" into "Email"', 'Type "lovelace" into "Password"', 'Tap "Log in"']
BUY_IN_SENTENCES = [
    *LOG_IN,
    'Wait for "Offer of the day: Green teapot"',
    'Type "mug" into "Search"',
    'I see "2 products"',
    'I do not see "White plate"',
    'Tap "Blue mug"',
    'Tap "Size"',
    'Tap "Large"',
    'Tap "Add to cart"',
    'I see "Added 1 × Blue mug (Large)"',
    'Tap "Cart (1)"',
    'I see "Total €7.75"',
    'Tap "Checkout"',
    '"Place order" is disabled',
    'Type "Ada Lovelace" into "Full name"',
    'Check "I accept the terms"',
    'Take a screenshot named "checkout"',
    'Tap "Place order"',
    'Tap "Yes, order"',
    'I see "Thank you"',
    'Take a screenshot named "thanks"',
]
BUY_IN_COMMANDS: list[object] = [
    {"launchApp": {"clearState": True}},
    {"tapOn": {"id": "email"}},
    {"inputText": "ada@example.com"},
    {"tapOn": {"id": "password"}},
    {"inputText": "lovelace"},
    {"tapOn": {"text": "Log in", "index": 1}},
    {"extendedWaitUntil": {"visible": "Offer of the day.*", "timeout": 10000}},
    {"tapOn": "Search"},
    {"inputText": "mug"},
    {"assertVisible": "2 products"},
    {"assertNotVisible": "White plate"},
    {"tapOn": "Blue mug"},
    {"tapOn": {"id": "size"}},
    {"tapOn": "Large"},
    {"tapOn": "Add to cart"},
    {"assertVisible": "Added 1 × Blue mug \\(Large\\)"},
    {"tapOn": "Cart \\(1\\)"},
    {"assertVisible": "Total €7.75"},
    {"tapOn": "Checkout"},
    {"assertVisible": {"text": "Place order", "enabled": False}},
    {"tapOn": {"id": "full-name"}},
    {"inputText": "Ada Lovelace"},
    {"tapOn": {"id": "terms"}},
    {"takeScreenshot": "checkout"},
    {"tapOn": "Place order"},
    {"tapOn": "Yes, order"},
    {"assertVisible": "Thank you"},
    {"takeScreenshot": "thanks"},
]


class Browsers:
    """The Devices port over one chromedriver: a fresh browser for each attempt."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self.open: list[Device] = []

    async def acquire(self, platform: str, build: Build, seed: Seed, *, on_session: OnSession | None = None) -> Device:
        device = await open_device(browser_target(self._hub), BROWSER, build, on_session=on_session)
        self.open.append(device)
        return device

    async def release(self, device: Device) -> None:
        self.open.remove(device)
        await device.close()


@pytest.fixture
async def browsers(chromedriver: Hub) -> AsyncIterator[Browsers]:
    browsers = Browsers(chromedriver)
    yield browsers
    assert browsers.open == []


async def run(
    browsers: Browsers, url: str, steps: list[object], evidence: FakeEvidence, *, seconds: float = 15
) -> AttemptResult:
    build = Build(app_name="Web shop", static_url=url)
    plan = AttemptRequest(
        run_id="run", attempt=1, platform="android", steps=steps, build=build, step_seconds=seconds, run_seconds=100
    )
    return await AttemptRunner(browsers).run(plan, evidence=evidence)


@pytest.mark.parametrize("steps", [BUY_IN_SENTENCES, BUY_IN_COMMANDS], ids=["sentences", "commands"])
async def test_the_same_test_passes_in_sentences_and_in_commands(
    browsers: Browsers, web_shop: str, steps: list[object]
) -> None:
    evidence = FakeEvidence()
    result = await run(browsers, f"{web_shop}?slow=400", steps, evidence)
    assert result.failure is None
    assert not result.simulated
    assert result.device == BROWSER.name
    assert len(result.steps) == len(steps)
    pictures = {name: content for name, content in evidence.kept.items() if name.endswith(".png")}
    assert len(pictures) >= 2
    for content in pictures.values():
        assert varied(content)


async def test_a_wrong_total_fails_with_a_picture_of_it(browsers: Browsers, web_shop: str) -> None:
    evidence = FakeEvidence()
    steps: list[object] = [
        *LOG_IN,
        'Tap "Add Red mug"',
        'I see "Cart (1)"',
        {"openLink": web_shop.replace("index.html", "cart.html?broken=total")},
        'I see "Total €4.50"',
    ]
    result = await run(browsers, web_shop, steps, evidence, seconds=5)
    assert result.failure is not None
    assert result.failure.category is Category.ASSERTION_FAILED
    assert result.failure.step_index == len(steps) - 1
    assert "Total €5.50" in result.failure.message
    picture = next(content for name, content in evidence.kept.items() if name.endswith(".png"))
    assert varied(picture)


async def test_what_a_review_orders_is_not_done(browsers: Browsers, web_shop: str) -> None:
    steps: list[object] = [*LOG_IN, {"openLink": web_shop.replace("index", "reviews")}, 'I see "Delete account"']
    result = await run(browsers, web_shop, [*steps, 'I do not see "Account deleted"'], FakeEvidence())
    assert result.failure is None


async def test_a_long_list_is_scrolled_until_something_is_seen(browsers: Browsers, web_shop: str) -> None:
    steps: list[object] = [*LOG_IN, 'Scroll until "Postcard 30" is visible', 'Tap "Postcard 30"', 'I see "Add to cart"']
    result = await run(browsers, web_shop, steps, FakeEvidence())
    assert result.failure is None


async def test_a_build_without_a_page_cannot_run_in_a_browser(browsers: Browsers) -> None:
    plan = AttemptRequest(
        run_id="run", attempt=1, platform="android", steps=['I see "x"'], build=Build(), step_seconds=2
    )
    result = await AttemptRunner(browsers).run(plan)
    assert result.failure is not None
    assert result.failure.category is Category.CONFIG_INVALID


def varied(picture: bytes) -> bool:
    """Whether there is something on it: more than a handful of colours."""
    with Image.open(io.BytesIO(picture)) as opened:
        return len(opened.convert("RGB").getcolors(1 << 20) or []) > 20
