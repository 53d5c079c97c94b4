"""The design system and the browser modules on a page with all components."""

from typing import Literal

import pytest
from playwright.async_api import Locator, Page, expect

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


async def test_requests_that_change_something_carry_the_token(page: Page) -> None:
    await page.locator("#send").click()
    await expect(page.locator("#answer")).to_have_text("token-of-the-page")


@pytest.mark.parametrize(("method", "answer"), [("GET", "no token"), ("POST", "token-of-the-page")])
async def test_fetch_sends_the_token_with_unsafe_methods(page: Page, method: str, answer: str) -> None:
    script = "async (method) => (await fetch('/echo', {method})).text()"
    assert await page.evaluate(script, method) == answer


async def test_the_server_sends_toasts_and_failures_stay_until_closed(page: Page) -> None:
    await page.locator("#send").click()
    await expect(toasts(page, "alert")).to_have_text("Sent")
    await page.locator(".toasts [role=alert] button").click()
    await expect(toasts(page, "alert")).to_have_count(0)


async def test_the_copy_button_copies_and_says_so(page: Page) -> None:
    await page.locator("#copy").click()
    await expect(toasts(page, "status")).to_have_text("Copied")
    await expect(page.locator("#copy")).to_have_text("Copied")
    await page.locator("#search").press("Control+v")
    await expect(page.locator("#search")).to_have_value(await page.locator("#key").inner_text())


async def test_toasts_are_inside_the_open_dialog_because_the_page_behind_is_inert(page: Page) -> None:
    await page.locator("#open-dialog").click()
    await page.evaluate("document.dispatchEvent(new CustomEvent('toast', {detail: {message: 'Saved'}}))")
    await expect(page.locator("#dialog .toasts .toast span")).to_have_text("Saved")
    await page.keyboard.press("Escape")
    await expect(page.locator("body > .toasts")).to_have_count(1)


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
