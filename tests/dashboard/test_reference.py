"""The API documentation in a browser: Swagger UI, as the policy of the pages permits it."""

from playwright.async_api import Locator, Page, expect

from tests.dashboard.conftest import Visitor
from tests.dashboard.pages import defects_shown, is_reached_by_tab
from tests.e2e.client import Api, created, fresh


def operation(page: Page, name: str) -> Locator:
    return page.locator(f"[id^=operations-][id$=-{name}]")


async def called(entry: Locator) -> Locator:
    """Send the request of an operation that is open; its response."""
    await entry.get_by_role("button", name="Execute").click()
    response = entry.locator(".live-responses-table .response")
    await expect(response).to_be_visible()
    return response


async def test_every_operation_of_the_document_is_shown_and_nothing_is_loaded_from_elsewhere(
    visitor: Visitor, anonymous: Api
) -> None:
    requested: list[str] = []
    visitor.page.on("request", lambda request: requested.append(request.url))
    document = created(await anonymous.get("/openapi.json"))
    await visitor.open("/docs")
    await expect(visitor.page.locator(".opblock")).to_have_count(sum(map(len, document["paths"].values())))
    assert [url for url in requested if not url.startswith((f"{visitor.url}/", "data:"))] == []


async def test_a_link_to_the_earlier_page_leads_to_its_operation_and_shows_its_example(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/docs#getGate")
    await expect(operation(page, "GetGate").get_by_text('"base_branch": "main"')).to_be_visible()
    await expect(operation(page, "GetGate")).to_be_in_viewport()
    await expect(page).to_have_url(f"{visitor.url}/docs#/Reports/GetGate")
    await page.evaluate("location.hash = 'createApp-body-1-App'")
    await expect(operation(page, "CreateApp").get_by_text('"platform": "Android"').first).to_be_visible()
    await expect(operation(page, "CreateApp")).to_be_in_viewport()


async def test_the_search_is_kept_in_the_address(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("/docs?q=QUARANTINE+reason")
    await expect(page.locator(".opblock-summary-operation-id")).to_have_text("QuarantineTest")
    await page.get_by_placeholder("Filter by tag or path").fill("cancelExecution")
    await expect(page.locator(".opblock-summary-operation-id")).to_have_text("CancelExecution")
    await expect(page).to_have_url(f"{visitor.url}/docs?q=cancelExecution")


async def test_an_operation_is_called_with_the_key_that_is_given_once_and_not_stored(visitor: Visitor) -> None:
    page, name = visitor.page, fresh("App")
    await visitor.open("/docs?q=createApp#/Apps/CreateApp")
    await page.get_by_role("button", name="Authorize").click()
    dialog = page.locator(".modal-ux")
    await dialog.get_by_role("textbox").fill(visitor.key)
    await dialog.get_by_role("button", name="Authorize").click()
    await dialog.get_by_role("button", name="Close").last.click()
    entry = operation(page, "CreateApp")
    await entry.get_by_role("button", name="Try it out").click()
    await entry.locator("textarea").fill(f'{{"name": "{name}", "platform": "iOS"}}')
    await expect(await called(entry)).to_contain_text("200")
    await page.get_by_placeholder("Filter by tag or path").fill("listApps")
    apps = operation(page, "ListApps")
    await apps.locator(".opblock-summary-control").click()
    await apps.get_by_role("button", name="Try it out").click()
    await expect(await called(apps)).to_contain_text(name)
    assert await page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]


async def test_a_signed_in_user_needs_no_key(member: Visitor) -> None:
    """A change too: it has the token of the session."""
    await member.open("/docs?q=createApp#/Apps/CreateApp")
    entry = operation(member.page, "CreateApp")
    await entry.get_by_role("button", name="Try it out").click()
    await expect(await called(entry)).to_contain_text("200")
    await expect(entry.locator(".curl-command")).not_to_contain_text("CSRF")


async def test_an_operation_is_called_by_keyboard(member: Visitor) -> None:
    page = member.page
    await member.open("/docs?q=getCurrentApiKey")
    await expect(operation(page, "GetCurrentApiKey")).to_be_visible()
    for selector in (".opblock-summary-control", ".try-out__btn", ".execute"):
        assert await is_reached_by_tab(page, selector)
        await page.keyboard.press("Enter")
    await expect(page.locator(".live-responses-table .response")).to_contain_text("200")


async def test_the_form_of_a_request_is_accessible(member: Visitor) -> None:
    """With several media types, the fields of its body, and the dialog for the key."""
    page = member.page
    await member.open("/docs?q=createBuild#/Builds/CreateBuild")
    entry = operation(page, "CreateBuild")
    await entry.get_by_role("button", name="Try it out").click()
    await entry.get_by_role("tab", name="Schema").first.click()
    assert await defects_shown(member) == {}
    await page.get_by_role("button", name="Authorize").click()
    assert await defects_shown(member) == {}


async def test_a_response_is_accessible(member: Visitor) -> None:
    await member.open("/docs?q=getCurrentApiKey#/ApiKeys/GetCurrentApiKey")
    entry = operation(member.page, "GetCurrentApiKey")
    await entry.get_by_role("button", name="Try it out").click()
    await called(entry)
    assert await defects_shown(member) == {}
