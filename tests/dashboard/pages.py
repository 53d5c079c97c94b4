"""What tests of several pages do and look at."""

from collections.abc import Mapping
from typing import Literal

from playwright.async_api import Page

from tests.dashboard.conftest import Visitor

HOSTILE = "<script>document.title='owned'</script> '\"& \u202egnp.exe \u05d0\u05d1 " + "W" * 120

THEMES: tuple[Literal["dark", "light"], ...] = ("dark", "light")


async def is_reached_by_tab(page: Page, selector: str, limit: int = 80) -> bool:
    """Press Tab until an element has the focus; False if that does not happen."""
    for _ in range(limit):
        await page.keyboard.press("Tab")
        if await page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return True
    return False


async def defects(visitor: Visitor, path: str) -> Mapping[str, object]:
    """What is wrong with a page in both themes and at a width of 360 px; nothing if all is well."""
    await visitor.open(path)
    return await defects_shown(visitor)


async def defects_shown(visitor: Visitor) -> Mapping[str, object]:
    """What is wrong with the page that is open; afterwards the theme is light again."""
    by_theme: dict[str, object] = {}
    page = visitor.page
    for theme in THEMES:
        await page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        if violations := await visitor.violations():
            by_theme[theme] = violations
    size = page.viewport_size
    await page.set_viewport_size({"width": 360, "height": 740})
    if (width := await page.evaluate("document.documentElement.scrollWidth")) > 360:
        by_theme["width"] = width
    if size:
        await page.set_viewport_size(size)
    return by_theme
