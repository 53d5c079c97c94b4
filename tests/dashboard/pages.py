"""What tests of several pages do and look at."""

from collections.abc import Mapping

from playwright.async_api import Page

from tests.dashboard.conftest import Visitor

HOSTILE = "<script>document.title='owned'</script> '\"& \u202egnp.exe \u05d0\u05d1 " + "W" * 120


async def is_reached_by_tab(page: Page, selector: str, limit: int = 80) -> bool:
    """Press Tab until an element has the focus; False if that does not happen."""
    for _ in range(limit):
        await page.keyboard.press("Tab")
        if await page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return True
    return False


async def defects(visitor: Visitor, path: str) -> Mapping[str, object]:
    """What is wrong with a page in both themes and at a width of 360 px; nothing if all is well."""
    found: dict[str, object] = {}
    page = visitor.page
    for theme in ("light", "dark"):
        await page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        await visitor.open(path)
        if violations := await visitor.violations():
            found[theme] = violations
    await page.set_viewport_size({"width": 360, "height": 740})
    if (width := await page.evaluate("document.documentElement.scrollWidth")) > 360:
        found["width"] = width
    await page.set_viewport_size({"width": 1280, "height": 800})
    return found
