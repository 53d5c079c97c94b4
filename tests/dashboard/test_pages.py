"""The first app, and the way to a failed step."""

from playwright.async_api import expect

from tests.dashboard.conftest import Visitor
from tests.dashboard.pages import is_reached_by_tab
from tests.e2e.world import World


async def test_an_app_is_registered(member: Visitor) -> None:
    """What is wrong is said beside its field, and what was typed stays."""
    await member.open("/")
    page = member.page
    await expect(page.get_by_text("No apps yet")).to_be_visible()
    await page.get_by_role("button", name="New app").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Description").fill("Sells mugs")
    await dialog.get_by_role("button", name="Register").click()
    await expect(dialog.get_by_role("alert").filter(has_text='Fill in "Name".')).to_be_visible()
    await expect(dialog.get_by_label("Description")).to_have_value("Sells mugs")
    await dialog.get_by_label("Name").fill("Shop <b>")
    await dialog.get_by_role("button", name="Register").click()
    await expect(page.get_by_role("heading", name="Shop <b>")).to_be_visible()
    await member.open("/?search=shop")
    await expect(page.get_by_role("link", name="Shop <b>", exact=True)).to_be_visible()
    await member.open("/?search=nothing")
    await expect(page.get_by_text("No app matches")).to_be_visible()


async def test_a_failed_step_is_three_links_away_by_keyboard(visitor: Visitor, world: World) -> None:
    app, test = await world.app(), await world.test(["Launch the app", 'Verify that "Nothing of this name" is visible'])
    await world.build(app, "1.0.0")
    await world.attach(app, test)
    await world.run(await world.workflow(test))
    page = visitor.page
    await visitor.open("/sign-in")
    await expect(page.get_by_label("API key")).to_be_focused()  # Chromium focuses it with the first frame, after "load"
    await page.keyboard.type(visitor.key)
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"{visitor.url}/")
    for link in ('a[href="/executions"]', "th a", "th a"):
        assert await is_reached_by_tab(page, link)
        async with page.expect_navigation():
            await page.keyboard.press("Enter")
    picture = page.locator("img").first
    await expect(picture).to_be_visible()
    assert await picture.evaluate("image => image.naturalWidth") > 0
    await expect(page.locator(".steps .failed").first).to_contain_text("Nothing of this name")
    await expect(page.get_by_text("simulated", exact=True).first).to_be_visible()
    await expect(page.get_by_text("A simulated device ran its built-in model instead of build 1.0.0")).to_be_visible()


async def test_forms_say_what_is_wrong_in_their_own_words(member: Visitor, world: World) -> None:
    """They name the field as its label does, not as the interface."""
    app, build, test, _ = await world.passing_app()
    page, shown = member.page, list[str]()
    for path, opens, fields, sends in (
        ("/", "New app", {"Name": ""}, "Register"),
        ("/", "New app", {"Name": "n" * 201}, "Register"),
        (f"/apps/{app['id']}", "Edit", {"Name": ""}, "Save"),
        (f"/apps/{app['id']}/builds/{build['id']}", "Edit", {"Version": ""}, "Save"),
        (f"/tests/{test['id']}", "Quarantine", {"Reason": ""}, "Quarantine"),
        ("/settings", "New key", {"Name": ""}, "Create"),
        ("/settings/secrets", "New secret", {"Name": "A", "Value": "a"}, "Set"),
    ):
        await member.open(path)
        await page.get_by_role("button", name=opens, exact=True).click()
        await page.evaluate("for (const each of document.querySelectorAll('[maxlength]')) each.maxLength = 1000")
        dialog = page.get_by_role("dialog")
        for label, value in fields.items():
            await dialog.get_by_label(label, exact=True).fill(value)
        await dialog.get_by_role("button", name=sends, exact=True).click()
        error = dialog.locator(".error:visible").first
        await expect(error).to_contain_text(f'"{[*fields][-1]}"')
        shown.append(await error.inner_text())
    assert [text for text in shown if "String" in text or "Field" in text or "body" in text] == []
