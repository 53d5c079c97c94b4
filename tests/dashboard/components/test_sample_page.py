"""The design system and the browser modules on a page with all components."""

import asyncio
from typing import Literal

import pytest
from playwright.async_api import Locator, Page, Route, expect

from tests.dashboard.components.sample_page import ADDRESS

Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")
INSERT_TIME = """
    const time = document.createElement("time");
    time.id = "later"; time.dataset.format = "relative"; time.dateTime = new Date(Date.now() - 185000).toISOString();
    document.querySelector("main").append(time);
"""


async def background(page: Page) -> str:
    return str(await page.evaluate("getComputedStyle(document.body).backgroundColor"))


def toasts(page: Page, role: str) -> Locator:
    return page.locator(f".toasts [role={role}] .toast span")


@pytest.mark.parametrize("width", [360, 720, 1040, 1600])
async def test_the_page_has_no_horizontal_scroll(page: Page, width: int) -> None:
    await page.set_viewport_size({"width": width, "height": 800})
    assert await page.evaluate("document.documentElement.scrollWidth") <= width


async def test_times_are_local_and_their_title_is_utc(page: Page) -> None:
    time = page.locator("#absolute")
    await expect(time).to_have_text("24 Nov 2026, 00:04")
    await expect(time).to_have_attribute("title", "2026-11-23 15:04:05 UTC")
    await expect(page.locator("#elapsed")).to_have_text("2:05")


async def test_times_that_come_later_are_shown_too(page: Page) -> None:
    await page.evaluate(INSERT_TIME)
    await expect(page.locator("#later")).to_have_text("3 minutes ago")
    await page.evaluate('document.getElementById("later").firstChild.data = "as the server wrote it"')
    await expect(page.locator("#later")).to_have_text("3 minutes ago")


@pytest.mark.parametrize("theme", THEMES)
async def test_the_chosen_theme_is_kept(page: Page, theme: Theme) -> None:
    await page.emulate_media(color_scheme="dark")
    switch = page.locator("[data-theme-switch]")
    await switch.select_option("dark" if theme == "light" else "light")
    other = await background(page)
    await switch.select_option(theme)
    chosen = await background(page)
    assert chosen != other
    await page.reload()
    await expect(switch).to_have_value(theme)
    assert await background(page) == chosen


async def test_without_a_choice_the_theme_is_the_systems(page: Page) -> None:
    async def set_system(theme: Theme) -> str:
        await page.emulate_media(color_scheme=theme)
        return await background(page)

    light, dark = [await set_system(theme) for theme in THEMES]
    assert light != dark
    switch = page.locator("[data-theme-switch]")
    await switch.select_option("light")
    assert await background(page) == light
    await switch.select_option("system")
    assert await background(page) == dark


async def show_toast(page: Page, *arguments: str) -> None:
    """Call showToast of the page's own module."""
    await page.evaluate("async (given) => (await import('/static/toast.js')).showToast(...given)", list(arguments))


async def test_failures_stay_until_closed_and_are_shown_once(page: Page) -> None:
    for _ in range(2):
        await show_toast(page, "Sent", "failed")
    await expect(toasts(page, "alert")).to_have_text(["Sent"])
    await page.locator(".toasts [role=alert] button").click()
    await expect(toasts(page, "alert")).to_have_count(0)


async def test_the_focus_moves_to_the_next_message_when_one_is_closed(page: Page) -> None:
    for message in ("First", "Second"):
        await show_toast(page, message, "failed")
    close = page.locator(".toasts [role=alert] button")
    await close.first.press("Enter")
    await expect(close).to_be_focused()


async def test_toasts_are_inside_the_open_dialog_because_the_page_behind_is_inert(page: Page) -> None:
    await page.locator("#open-dialog").click()
    await show_toast(page, "Saved")
    await expect(page.locator("#dialog .toasts .toast span")).to_have_text("Saved")
    await page.keyboard.press("Escape")
    await expect(page.locator("body > .toasts")).to_have_count(1)


async def test_an_older_answer_never_replaces_a_newer_one(page: Page) -> None:
    """The first answer to be asked for would come last."""
    is_older_late, answers = asyncio.Event(), iter(("older", "newer"))

    async def answer_late(route: Route) -> None:
        text = next(answers)
        if text == "older":
            await is_older_late.wait()
        await route.fulfill(body=f'<code id="key">{text}</code>', content_type="text/html")

    await page.route(f"{ADDRESS}/", answer_late)
    await page.evaluate(
        "import('/static/refresh.js').then(({ morph }) => { window.both = [morph(['key']), morph(['key'])]; })"
    )
    await page.evaluate("fetch('/echo').then((response) => response.text())")
    is_older_late.set()
    assert await page.evaluate("Promise.all(window.both)") == [True, True]
    await expect(page.locator("#key")).to_have_text("newer")


@pytest.mark.parametrize("theme", THEMES)
async def test_print_is_dark_on_white_without_the_navigation(page: Page, theme: Theme) -> None:
    """Whatever theme was chosen: browsers do not print backgrounds."""
    await page.locator("[data-theme-switch]").select_option("light")
    ink = await page.evaluate("getComputedStyle(document.body).color")
    await page.locator("[data-theme-switch]").select_option(theme)
    await page.emulate_media(media="print")
    assert await page.evaluate("getComputedStyle(document.body).color") == ink
    await expect(page.get_by_role("navigation", name="Main")).to_be_hidden()
    await expect(page.locator(".scroll").first).to_have_css("overflow", "visible")


async def test_a_tooltip_opens_on_focus_and_closes_on_escape(page: Page) -> None:
    sentence = page.locator("#flaky-1")
    await expect(sentence).to_be_hidden()
    await page.locator("#tip").focus()
    await expect(sentence).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(sentence).to_be_hidden()


async def test_a_tooltip_is_not_cut_off_by_its_table(page: Page) -> None:
    await page.set_viewport_size({"width": 360, "height": 800})
    await page.locator("#tip").evaluate(
        "tip => { tip.scrollIntoView({block: 'center', inline: 'center'}); tip.focus(); }"
    )
    await expect(page.locator("#flaky-1")).to_be_visible()
    box = await page.locator("#flaky-1").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360
