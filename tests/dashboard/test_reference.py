"""The API documentation in a browser, for somebody who has not signed in."""

from playwright.async_api import Locator, Page, expect

from tests.dashboard.conftest import Visitor
from tests.dashboard.pages import defects_shown
from tests.e2e.client import Api, created


def shown(page: Page) -> Locator:
    return page.locator("article[data-operation]:visible")


async def test_every_operation_of_the_document_is_shown(visitor: Visitor, anonymous: Api) -> None:
    document = created(await anonymous.get("/openapi.json"))
    operations = [operation for item in document["paths"].values() for operation in item.values()]
    await visitor.open("/docs")
    await expect(shown(visitor.page)).to_have_count(len(operations))
    entry = visitor.page.get_by_role("article", name="Creates an app")
    await expect(entry).to_contain_text("/api/v1/apps")
    await expect(entry.get_by_label("Response of createApp")).to_contain_text('"platform": "Android"')


async def test_the_search_is_kept_in_the_address(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/docs")
    field = page.get_by_role("searchbox", name="Search operations")
    await field.fill("QUARANTINE reason")
    await expect(shown(page)).to_have_count(1)
    await expect(page.get_by_role("navigation", name="Operations").get_by_role("link")).to_have_text(
        ["Tests", "PUT quarantineTest", "Conventions"]
    )
    await expect(page.get_by_role("search").get_by_role("status")).to_contain_text("1 of ")
    await visitor.page.reload()
    await expect(field).to_have_value("QUARANTINE reason")
    await expect(shown(page)).to_have_count(1)
    await field.fill("nothing is called so")
    await expect(page.get_by_role("heading", name="No operation matches")).to_be_visible()
    await page.get_by_role("button", name="Show all").click()
    await expect(field).to_be_focused()
    assert page.url == f"{visitor.url}/docs"
    assert await shown(page).count() > 60


async def test_a_link_leads_to_its_operation(visitor: Visitor) -> None:
    """Also when a search hides it; a link to fields opens them."""
    page = visitor.page
    await visitor.open("/docs#getGate")
    await expect(page.get_by_role("article", name="Gets the gate of an execution")).to_be_in_viewport()
    await page.get_by_role("searchbox").fill("quarantine reason")
    await page.evaluate("location.hash = 'createApp'")
    await expect(page.get_by_role("article", name="Creates an app")).to_be_in_viewport()
    await expect(page.get_by_role("searchbox")).to_have_value("")
    await page.evaluate("location.hash = 'compareBuilds-200-ComparedTest'")
    await expect(page.locator("[id=compareBuilds-200-ComparedTest] .name").first).to_be_visible()


async def test_an_operation_is_reached_by_keyboard(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/docs")
    await page.get_by_role("searchbox").focus()
    await page.keyboard.type("cancelExecution")
    for _ in range(3):  # the group, the operation
        await page.keyboard.press("Tab")
        if await page.evaluate("document.activeElement.hash") == "#cancelExecution":
            break
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{visitor.url}/docs?q=cancelExecution#cancelExecution")


async def test_a_request_is_copied(visitor: Visitor) -> None:
    page = visitor.page
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await visitor.open("/docs#createApp")
    await page.get_by_role("button", name="Copy the request of createApp").click()
    await expect(page.locator(".toasts")).to_contain_text("Copied")
    text = await page.evaluate("navigator.clipboard.readText()")
    assert text.startswith('curl "$MOBILETEST_URL/api/v1/apps" \\\n')
    assert '"platform": "Android"' in text or '"platform":"Android"' in text


async def test_the_page_is_kept_by_browsers_and_small(visitor: Visitor) -> None:
    await visitor.open("/docs")
    sizes = "performance.getEntriesByType('navigation')[0].encodedBodySize"
    assert await visitor.page.evaluate(sizes) < 100 * 1024
    answer = await visitor.page.request.get(f"{visitor.url}/docs")
    tag = answer.headers["etag"]
    again = await visitor.page.request.get(f"{visitor.url}/docs", headers={"If-None-Match": tag})
    assert again.status == 304
    plain = await visitor.page.request.get(f"{visitor.url}/docs", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert await plain.text() == await answer.text()


async def test_print_shows_what_is_folded(visitor: Visitor) -> None:
    await visitor.open("/docs?q=cancelExecution")
    fields = visitor.page.locator("article:visible .described details .name").first
    await expect(fields).to_be_hidden()
    await visitor.page.emulate_media(media="print")
    assert await fields.evaluate("element => element.checkVisibility({contentVisibilityAuto: true})")
    await expect(visitor.page.get_by_role("searchbox")).to_be_hidden()


async def test_the_documentation_is_accessible(visitor: Visitor) -> None:
    await visitor.open("/docs#getRun")
    await visitor.page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert await defects_shown(visitor) == {}
