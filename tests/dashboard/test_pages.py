"""The pages: what they show, by keyboard, on a phone, light and dark."""

from playwright.async_api import expect

from tests.dashboard.conftest import Visitor
from tests.dashboard.pages import defects
from tests.e2e.client import Api, created
from tests.e2e.world import World

FAILING = {"steps": ["Launch the app", 'Verify that "Nothing of this name" is visible']}


async def failed_execution(world: World, api: Api) -> str:
    """The id of an execution with a test that fails on a simulated device."""
    app = await world.app()
    await world.build(app, "1.0.0")
    test = await world.test(**FAILING)
    await world.attach(app, test)
    started = created(await api.post("/tests/execute", {"test_id": test["id"]}))
    return str((await world.ended(started["id"]))["id"])


async def test_an_app_is_registered(visitor: Visitor) -> None:
    """What is wrong is said beside its field, and what was typed stays."""
    await visitor.sign_in()
    await visitor.open("/")
    page = visitor.page
    await expect(page.get_by_text("No apps yet")).to_be_visible()
    await page.get_by_role("button", name="New app").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Description").fill("Sells mugs")
    await dialog.get_by_role("button", name="Register").click()
    await expect(dialog.get_by_role("alert").filter(has_text="Field required")).to_be_visible()
    await expect(dialog.get_by_label("Description")).to_have_value("Sells mugs")
    await dialog.get_by_label("Name").fill("Shop <b>")
    await dialog.get_by_role("button", name="Register").click()
    await expect(page.get_by_role("heading", name="Shop <b>")).to_be_visible()
    await visitor.open("/?search=shop")
    await expect(page.get_by_role("link", name="Shop <b>", exact=True)).to_be_visible()
    await visitor.open("/?search=nothing")
    await expect(page.get_by_text("No app matches")).to_be_visible()


async def test_a_failed_step_is_three_links_away_by_keyboard(visitor: Visitor, world: World, api: Api) -> None:
    """Executions, the execution, its run: three links."""
    await failed_execution(world, api)
    page = visitor.page
    await visitor.open("/sign-in")
    await page.keyboard.type(visitor.key)
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"{visitor.url}/")
    for name in ("Executions", "test", "Test"):
        link = page.get_by_role("link", name=name).first if name == "Executions" else page.locator("th a").first
        await press_to(visitor, link)
    picture = page.locator("img").first
    await expect(picture).to_be_visible()
    assert await picture.evaluate("image => image.naturalWidth") > 0
    await expect(page.locator(".steps .failed").first).to_contain_text("Nothing of this name")
    await expect(page.get_by_text("simulated", exact=True).first).to_be_visible()


async def press_to(visitor: Visitor, link: object) -> None:
    """Move the focus to a link by Tab, and follow it by Enter."""
    for _ in range(40):
        await visitor.page.keyboard.press("Tab")
        if await link.evaluate("element => element === document.activeElement"):  # type: ignore[attr-defined]
            async with visitor.page.expect_navigation():
                await visitor.page.keyboard.press("Enter")
            return
    raise AssertionError("the link is not reached")


async def test_an_unknown_execution_is_not_found(visitor: Visitor) -> None:
    await visitor.sign_in()
    await visitor.open("/executions/00000000-0000-4000-8000-000000000000")
    await expect(visitor.page.get_by_role("heading", name="Not found")).to_be_visible()


async def test_pages_are_accessible(visitor: Visitor, world: World, api: Api) -> None:
    """axe-core finds nothing serious, and no page is wider than a phone."""
    execution = await failed_execution(world, api)
    run = created(await api.get(f"/executions/{execution}/runs"))["items"][0]
    app = created(await api.get("/apps"))["items"][0]
    assert await defects(visitor, "/sign-in") == {}
    await visitor.sign_in()
    paths = ("/", f"/apps/{app['id']}", "/executions", f"/executions/{execution}")
    for path in (*paths, f"/executions/{execution}/runs/{run['id']}"):
        assert await defects(visitor, path) == {}, path
        await visitor.page.set_viewport_size({"width": 1280, "height": 800})
