"""The pages of settings: the life of a key, limits, quarantine, secrets."""

import asyncio
from datetime import datetime

from playwright.async_api import Locator, expect

from tests.dashboard.conftest import Visitor
from tests.dashboard.pages import HOSTILE, defects, defects_shown
from tests.e2e.client import Api, created
from tests.e2e.test_limits import new_organisation
from tests.e2e.world import World
from tests.eventually import eventually
from tests.shared_infrastructure import SharedStack

PAGES = ("/settings", "/settings/limits", "/settings/quarantine", "/settings/secrets")


async def open_settings(visitor: Visitor, page: str = "") -> None:
    await visitor.sign_in()
    await visitor.open(f"/settings{page}")


async def create_key(visitor: Visitor, name: str) -> str:
    """Create a key in the dialog, copy its value, and close the dialog; the value."""
    page = visitor.page
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.get_by_role("button", name="New key").click()
    dialog = page.get_by_role("dialog", name="New API key")
    await dialog.get_by_label("Name").fill(name)
    await dialog.get_by_role("button", name="Create").click()
    shown = page.get_by_role("dialog", name="The key")
    await expect(shown.get_by_text("it is not shown again")).to_be_visible()
    await shown.get_by_role("button", name="Copy", exact=True).click()
    await expect(page.get_by_text("Copied").first).to_be_visible()
    value = str(await page.evaluate("navigator.clipboard.readText()"))
    await expect(shown.get_by_text(value)).to_be_visible()
    await shown.get_by_role("button", name="I have copied it").click()
    await expect(shown).to_be_hidden()
    await expect(page.locator("#new-key-value")).to_be_empty()
    return value


async def is_accepted(visitor: Visitor, key: str) -> bool:
    async with Api(visitor.url, key) as api:
        return (await api.get("/apps")).status == 200


def row(visitor: Visitor, text: str) -> Locator:
    return visitor.page.locator("tbody tr").filter(has_text=text)


async def test_the_life_of_a_key(visitor: Visitor) -> None:
    """Its value is shown once; its use is seen; once its name is typed it is deleted, and refused everywhere."""
    await open_settings(visitor)
    value = await create_key(visitor, "GitHub Actions")
    page = visitor.page
    assert value.startswith("mt_")
    assert (value in await page.content(), value in page.url) == (False, False)
    await expect(row(visitor, "GitHub Actions")).to_contain_text("never")
    assert await is_accepted(visitor, value)
    await visitor.open("/settings")
    await expect(row(visitor, "GitHub Actions").locator("td").nth(3)).to_have_text("now")
    assert value not in await page.content()

    await page.get_by_role("button", name="Delete GitHub Actions").click()
    dialog = page.get_by_role("dialog", name="Delete the API key GitHub Actions?")
    delete = dialog.get_by_role("button", name="Delete")
    await expect(dialog).to_contain_text("jobs of CI that use it are refused")
    await dialog.get_by_label("Type GitHub Actions").fill("GitHub")
    await expect(delete).to_be_disabled()
    await dialog.get_by_label("Type GitHub Actions").fill("GitHub Actions")
    await expect(delete).to_be_enabled()
    await page.keyboard.press("Enter")
    await expect(row(visitor, "GitHub Actions")).to_have_count(0)
    await expect(page.get_by_role("status").get_by_text("GitHub Actions was deleted")).to_be_visible()

    async def refused() -> bool:
        return not await is_accepted(visitor, value)

    await eventually(refused)


async def test_only_its_button_closes_a_key_that_is_shown_once(visitor: Visitor) -> None:
    """Not Escape, pressed often, nor a click beside it; a browser asks before it leaves the page."""
    await open_settings(visitor)
    page, asked = visitor.page, list[str]()
    await page.get_by_role("button", name="New key").click()
    await page.get_by_role("dialog").get_by_label("Name").fill("once")
    await page.get_by_role("button", name="Create").click()
    shown, value = page.get_by_role("dialog", name="The key"), page.locator("#new-key-value")
    await expect(value).to_contain_text("mt_")
    for _ in range(3):
        await page.keyboard.press("Escape")
    await page.mouse.click(5, 5)
    await expect(shown).to_be_visible()
    page.on("dialog", lambda dialog: (asked.append(dialog.type), asyncio.ensure_future(dialog.dismiss()))[0])
    await page.evaluate("location.assign('/tests')")
    await eventually(lambda: asked == ["beforeunload"])
    await expect(value).to_contain_text("mt_")
    await shown.get_by_role("button", name="I have copied it").click()
    await expect(shown).to_be_hidden()
    await visitor.open("/tests")
    assert asked == ["beforeunload"]


async def test_wrong_input_is_said_beside_the_fields(visitor: Visitor) -> None:
    """What was typed stays, and the focus is on what is wrong."""
    await open_settings(visitor)
    page = visitor.page
    await page.get_by_role("button", name="New key").click()
    dialog = page.get_by_role("dialog", name="New API key")
    name, day, create = (
        dialog.get_by_label("Name"),
        dialog.get_by_label("Expires after"),
        dialog.get_by_role("button", name="Create"),
    )
    await day.fill("2020-02-29")
    await dialog.get_by_role("checkbox", name="execute").check()
    await create.click()
    await expect(page.locator("#name-error")).to_be_visible()
    await expect(name).to_be_focused()
    await name.fill("ci")
    await create.click()
    await expect(page.locator("#expires_at-error")).to_contain_text("must be in the future")
    await expect(day).to_have_value("2020-02-29")
    await expect(name).to_have_value("ci")
    for scope in ("read", "execute"):
        await dialog.get_by_role("checkbox", name=scope).uncheck()
    await create.click()
    await expect(page.locator("#scopes-error")).to_contain_text("Choose at least one scope")


async def test_a_key_expires_at_the_end_of_a_local_day(visitor: Visitor, api: Api) -> None:
    """The browser is in Rome."""
    await open_settings(visitor)
    await visitor.page.get_by_role("button", name="New key").click()
    dialog = visitor.page.get_by_role("dialog", name="New API key")
    await dialog.get_by_label("Name").fill("summer")
    await dialog.get_by_label("Expires after").fill("2031-06-15")
    await dialog.get_by_role("button", name="Create").click()
    await expect(visitor.page.get_by_role("dialog", name="The key")).to_be_visible()
    [key] = [each for each in created(await api.get("/settings/api-keys"))["items"] if each["name"] == "summer"]
    assert (key["expires_at"], key["scopes"]) == ("2031-06-15T22:00:00Z", ["read"])


async def test_a_new_key_is_offered_what_the_own_one_may(visitor: Visitor, api: Api) -> None:
    lent = {"name": "lent", "scopes": ["read", "admin"], "expires_at": "2031-06-15T22:00:00Z"}
    visitor.key = created(await api.post("/settings/api-keys", lent))["key"]
    await open_settings(visitor)
    await visitor.page.get_by_role("button", name="New key").click()
    dialog = visitor.page.get_by_role("dialog", name="New API key")
    await expect(dialog.get_by_role("checkbox")).to_have_count(2)
    for scope in ("read", "admin"):
        await expect(dialog.get_by_role("checkbox", name=scope)).to_be_visible()
    await expect(dialog.get_by_text("Without a day it expires with your key")).to_be_visible()


async def test_deleting_the_key_of_the_session_signs_out(visitor: Visitor) -> None:
    await open_settings(visitor)
    own = row(visitor, "this session")
    name = await own.locator("bdi").inner_text()
    await own.get_by_role("button", name="Delete").click()
    dialog = visitor.page.get_by_role("dialog")
    await expect(dialog.get_by_text("you will be signed out")).to_be_visible()
    await dialog.get_by_label(f"Type {name}").fill(name)
    await dialog.get_by_role("button", name="Delete").click()
    await expect(visitor.page).to_have_url(f"{visitor.url}/sign-in")


async def test_a_read_only_key_gets_the_missing_scope_in_the_error(visitor: Visitor, api: Api, world: World) -> None:
    test = await world.test()
    created(await api.put(f"/tests/{test['id']}/quarantine", {"reason": "Waits for SHOP-1"}))
    visitor.key = created(await api.post("/settings/api-keys", {"name": "viewer", "scopes": ["read"]}))["key"]
    await open_settings(visitor)
    page = visitor.page
    await expect(page.get_by_text("You have signed in with viewer, which has the scopes read.")).to_be_visible()
    await expect(page.get_by_text("Ask an administrator of your organisation")).to_be_visible()
    await visitor.open("/settings/quarantine")
    await expect(row(visitor, "Waits for SHOP-1")).to_be_visible()
    await expect(page.get_by_role("button", name="End")).to_have_count(0)
    await visitor.open("/settings/secrets")
    await expect(page.get_by_text("sign in with a key that has the scope write")).to_be_visible()
    await expect(page.get_by_role("button", name="New secret")).to_have_count(0)


async def test_limits_near_their_end_stand_out(visitor: Visitor, stack: SharedStack) -> None:
    visitor.key = await new_organisation(stack, api_keys=1, artifact_bytes=5_000_000, allowed_models=["small"])
    await open_settings(visitor, "/limits")
    page = visitor.page
    first = page.locator("tbody tr").first
    await expect(first).to_contain_text("used up")
    await expect(first.get_by_role("progressbar", name="API keys")).to_have_attribute("value", "1")
    await expect(row(visitor, "artifact_bytes")).to_contain_text("0 Bytes of 4.8 MiB")
    await expect(row(visitor, "artifact_bytes").get_by_text("used up")).to_have_count(0)
    await expect(page.get_by_text("Requests per second, of one key")).to_be_visible()
    await expect(page.get_by_text("Tests may name small.")).to_be_visible()


async def test_a_quarantine_is_ended(visitor: Visitor, api: Api, world: World) -> None:
    test, other = await world.test(name=HOSTILE), await world.test()
    created(await api.put(f"/tests/{test['id']}/quarantine", {"reason": "Waits for SHOP-1"}))
    created(await api.put(f"/tests/{other['id']}/quarantine", {"reason": "Waits for SHOP-2"}))
    await open_settings(visitor, "/quarantine")
    page = visitor.page
    page.on("dialog", lambda dialog: dialog.accept())
    shown = row(visitor, "Waits for SHOP-1")
    await expect(shown).to_contain_text("<script>")
    await expect(shown).to_contain_text("in 13 days")
    await expect(shown).to_contain_text("bootstrap")
    await shown.get_by_role("button", name="End the quarantine").click()
    await expect(page.get_by_role("status").get_by_text("The quarantine has ended")).to_be_visible()
    await expect(shown).to_have_count(0)
    await expect(row(visitor, "Waits for SHOP-2")).to_be_visible()
    assert created(await api.get(f"/tests/{test['id']}"))["quarantine"] is None


async def test_a_secret_is_set_replaced_and_deleted(visitor: Visitor, api: Api) -> None:
    await open_settings(visitor, "/secrets")
    page = visitor.page
    await expect(page.get_by_role("heading", name="No secrets yet")).to_be_visible()
    await page.get_by_role("button", name="New secret").click()
    dialog = page.get_by_role("dialog", name="Set a secret")
    name, value, save = (
        dialog.get_by_label("Name"),
        dialog.get_by_label("Value"),
        dialog.get_by_role("button", name="Set"),
    )
    await expect(value).to_have_attribute("type", "password")
    await name.fill("staging/password")
    await value.fill("ab")
    await save.click()
    await expect(page.locator("#name-error")).to_contain_text("Enter 1 to 100 letters")
    await name.fill("staging-password")
    await save.click()
    await expect(page.locator("#value-error")).to_contain_text("3 characters")
    await expect(value).to_have_value("ab")
    await value.fill("correct horse")
    await save.click()
    await expect(row(visitor, "staging-password")).to_be_visible()
    assert "correct horse" not in await page.content()
    before = datetime.fromisoformat(created(await api.get("/secrets"))["items"][0]["updated_at"])
    await page.get_by_role("button", name="Replace staging-password").click()
    await expect(value).to_be_focused()
    await value.fill("battery staple")
    await save.click()
    await expect(dialog).to_be_hidden()
    assert datetime.fromisoformat(created(await api.get("/secrets"))["items"][0]["updated_at"]) > before
    await page.get_by_role("button", name="Delete staging-password").click()
    await page.get_by_label("Type staging-password").fill("staging-password")
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(page.get_by_role("heading", name="No secrets yet")).to_be_visible()
    assert created(await api.get("/secrets"))["total"] == 0


async def test_a_key_is_created_by_keyboard(visitor: Visitor) -> None:
    """From the list to the copied value, and back to the button."""
    await open_settings(visitor)
    page = visitor.page
    await page.get_by_role("button", name="New key").focus()
    await page.keyboard.press("Enter")
    await page.keyboard.type("keyboard")
    await page.keyboard.press("Enter")
    await expect(page.locator("#new-key-value")).to_contain_text("mt_")
    await page.get_by_role("button", name="I have copied it").press("Enter")
    await expect(page.locator("#new-key-value")).to_be_empty()
    await expect(row(visitor, "keyboard")).to_be_visible()
    await expect(page.get_by_role("button", name="New key")).to_be_focused()


async def test_settings_are_accessible(member: Visitor, api: Api, world: World) -> None:
    test = await world.test(name=HOSTILE)
    created(await api.put(f"/tests/{test['id']}/quarantine", {"reason": HOSTILE}))
    created(await api.post("/settings/api-keys", {"name": HOSTILE}))
    created(await api.put("/secrets/" + "s" * 100, {"value": "abc"}))
    page = member.page
    for path in PAGES:
        assert await defects(member, path) == {}, path
    await member.open("/settings")
    for button in ("New key", f"Delete {HOSTILE}"):
        await page.get_by_role("button", name=button).click()
        assert await defects_shown(member) == {}, button
        await page.keyboard.press("Escape")
