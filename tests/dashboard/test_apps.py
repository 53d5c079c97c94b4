"""The page of an app: trend, health of builds, attached tests; changing and deleting the app."""

from typing import Any

from playwright.async_api import Locator, expect

from tests.dashboard.conftest import Visitor
from tests.dashboard.pages import HOSTILE, defects, is_reached_by_tab
from tests.e2e.client import Api, created
from tests.e2e.test_gate import Ci
from tests.e2e.world import World

PIXELS = """canvas => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const counts = {};
    for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3] !== 255) continue;
        const colour = `rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`;
        counts[colour] = (counts[colour] ?? 0) + 1;
    }
    return counts;
}"""


async def colours(visitor: Visitor) -> dict[str, int]:
    """The number of pixels of each colour in the chart."""
    canvas = visitor.page.locator("#trend canvas")
    await expect(canvas).to_be_visible()
    counted: dict[str, int] = await canvas.evaluate(PIXELS)
    return counted


async def legend_colour(visitor: Visitor, kind: str) -> str:
    item = visitor.page.locator(f"#trend .legend .{kind}")
    return str(await item.evaluate("item => getComputedStyle(item, '::before').backgroundColor"))


def row(visitor: Visitor, panel: str, name: str) -> Locator:
    """The row of a table in a panel whose first cell has a name."""
    rows = visitor.page.locator(f"#{panel} tbody tr")
    return rows.filter(has=visitor.page.get_by_role("rowheader", name=name))


async def open_app(visitor: Visitor, app: Any, query: str = "") -> None:
    await visitor.sign_in()
    await visitor.open(f"/apps/{app['id']}{query}")


async def test_the_trend_is_drawn_and_is_a_table_too(ci: Ci, visitor: Visitor) -> None:
    """Bars have the colours of the legend, and change with the theme."""
    build, _ = await ci.run("1.0.0", pay=False)
    await ci.world.reported(build, 2)
    await visitor.page.emulate_media(color_scheme="light")
    await open_app(visitor, ci.app, "?days=7")
    page = visitor.page
    await expect(page.locator("#trend .legend")).to_contain_text("Passed: 1")
    light = await colours(visitor)
    for kind in ("passed", "failed"):
        assert light[await legend_colour(visitor, kind)] > 100
    axis = "ul => getComputedStyle(ul).color"
    assert await page.locator("#trend .legend").evaluate(axis) in light
    await page.get_by_label("Theme").select_option("dark")
    ink = await page.locator("#trend .legend").evaluate(axis)
    assert ink not in light
    assert ink in await colours(visitor)
    await page.get_by_text("Figures").click()
    rows = page.locator("#trend-figures tbody tr")
    await expect(rows).to_have_count(7)
    cells = await rows.locator("td").all_inner_texts()
    assert [sum(map(int, cells[column::4])) for column in range(4)] == [1, 1, 0, 0]


async def test_the_trend_follows_the_width_of_the_page(ci: Ci, visitor: Visitor) -> None:
    build, _ = await ci.run("1.0.0")
    await ci.world.reported(build, 2)
    await open_app(visitor, ci.app)
    await visitor.page.set_viewport_size({"width": 360, "height": 740})
    chart = visitor.page.locator("#trend .uplot")
    await expect(chart).not_to_have_css("width", "0px")
    width = "chart => chart.getBoundingClientRect().width <= chart.parentElement.clientWidth"
    await visitor.page.wait_for_function(f"() => ({width})(document.querySelector('#trend .uplot'))")


async def test_the_days_of_the_trend_are_a_link(visitor: Visitor, world: World) -> None:
    app = await world.app()
    await open_app(visitor, app)
    page = visitor.page
    await expect(page.get_by_text("No run has ended in the last 14 days")).to_be_visible()
    await page.get_by_role("link", name="60 days").click()
    await expect(page).to_have_url(f"{visitor.url}/apps/{app['id']}?days=60")
    await expect(page.get_by_role("link", name="60 days")).to_have_attribute("aria-current", "true")
    await expect(page.get_by_text("No run has ended in the last 60 days")).to_be_visible()
    await visitor.open(f"/apps/{app['id']}?days=61")
    await expect(page.get_by_role("heading", name="Not understood")).to_be_visible()


async def test_another_build_becomes_the_current_one(ci: Ci, visitor: Visitor) -> None:
    """What is typed elsewhere on the page stays."""
    build, _ = await ci.run("1.0.0", pay=False)
    await ci.run("2.0.0")
    await ci.world.reported(build, 2)
    await open_app(visitor, ci.app)
    page, old = visitor.page, row(visitor, "builds", "1.0.0")
    await expect(row(visitor, "builds", "2.0.0").get_by_text("newest")).to_be_visible()
    await expect(row(visitor, "builds", "2.0.0").get_by_text("current", exact=True)).to_be_visible()
    await expect(old.get_by_role("cell", name="50 %").first).to_be_visible()
    await page.get_by_label("Version", exact=True).fill("3.0.0")
    await old.get_by_role("button", name="Make current").click()
    await expect(page.get_by_role("status").filter(has_text="Tests run on 1.0.0 now")).to_be_visible()
    await expect(old.get_by_text("current", exact=True)).to_be_visible()
    await expect(page.locator("#cards")).to_contain_text("1.0.0")
    await expect(page.get_by_label("Version", exact=True)).to_have_value("3.0.0")
    await page.get_by_role("button", name="Follow the newest build").click()
    await expect(old.get_by_role("button", name="Make current")).to_be_visible()
    await old.get_by_role("link", name="1.0.0").click()
    await expect(page.get_by_role("heading", name="Build 1.0.0")).to_be_visible()


async def test_a_test_is_attached_pinned_and_detached(visitor: Visitor, world: World, api: Api) -> None:
    app = await world.app()
    await world.build(app, "1.0.0")
    await world.build(app, "2.0.0")
    await world.test(name="Log in with a card")
    await world.test(name="Log in on a watch", platform="iOS")
    await open_app(visitor, app)
    page = visitor.page
    await expect(page.get_by_text("No test is attached")).to_be_visible()
    await page.get_by_label("Attach a test").fill("log in")
    await page.get_by_label("Attach a test").press("Enter")
    await expect(page.get_by_text("Log in on a watch")).not_to_be_visible()
    await page.get_by_role("button", name="Attach Log in with a card").click()
    attached = row(visitor, "tests", "Log in with a card")
    await expect(attached).to_contain_text("2.0.0")
    await expect(attached.get_by_label("Build to which")).to_be_hidden()
    await attached.locator("summary").click()
    await attached.get_by_label("Build to which").fill("1.0.0")
    await attached.get_by_label("Build to which").press("Enter")
    await expect(attached.get_by_text("pinned", exact=True)).to_be_visible()
    [attachment] = created(await api.get(f"/apps/{app['id']}/tests"))["items"]
    assert (attachment["pinned_version"], attachment["target_build_version"]) == ("1.0.0", "1.0.0")
    await attached.get_by_label("Build to which").fill("x" * 201)
    await attached.get_by_role("button", name="Save").click()
    await expect(attached.get_by_role("alert")).to_contain_text("200")
    await attached.get_by_role("button", name="Unpin").click()
    await expect(attached.get_by_text("pinned", exact=True)).not_to_be_visible()
    await attached.get_by_role("button", name="Detach").click()
    await expect(page.get_by_text("No test is attached")).to_be_visible()
    await expect(page.locator("#tests")).to_be_focused()


async def test_a_test_is_attached_by_keyboard(visitor: Visitor, world: World) -> None:
    app = await world.app()
    await world.test(name="Pay by card")
    await open_app(visitor, app)
    page = visitor.page
    assert await is_reached_by_tab(page, "#attach")
    await page.keyboard.type("pay")
    async with page.expect_navigation():
        await page.keyboard.press("Enter")
    assert await is_reached_by_tab(page, "#tests .choices button")
    await page.keyboard.press("Enter")
    await expect(row(visitor, "tests", "Pay by card")).to_be_visible()


async def test_an_app_is_edited(visitor: Visitor, world: World, api: Api) -> None:
    """A field that somebody else has changed meanwhile is not overwritten before that was shown."""
    app = await world.app(description="Sells cups")
    await open_app(visitor, app)
    page = visitor.page
    await page.get_by_role("button", name="Edit").click()
    dialog = page.get_by_role("dialog", name="Edit the app")
    await dialog.get_by_label("Name").fill("")
    await dialog.get_by_label("Description").fill("Sells plates")
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog.get_by_role("alert").first).to_contain_text('Fill in "Name".')
    await dialog.get_by_label("Name").fill("Crockery")
    created(await api.patch(f"/apps/{app['id']}", {"description": "Sells mugs"}))
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog.get_by_role("alert").filter(has_text="Sells mugs")).to_be_visible()
    await expect(dialog.get_by_label("Description")).to_have_value("Sells plates")
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog).not_to_be_visible()
    await expect(page.get_by_role("heading", name="Crockery")).to_be_visible()
    saved = created(await api.get(f"/apps/{app['id']}"))
    assert (saved["name"], saved["description"]) == ("Crockery", "Sells plates")


async def test_what_is_emptied_is_cleared(visitor: Visitor, world: World, api: Api) -> None:
    app = await world.app(description="Sells cups\r\n\r\nand mugs")
    await open_app(visitor, app)
    await visitor.page.get_by_role("button", name="Edit").click()
    dialog = visitor.page.get_by_role("dialog")
    await dialog.get_by_label("Description").fill("")
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog).not_to_be_visible()
    assert created(await api.get(f"/apps/{app['id']}"))["description"] is None


async def test_an_app_is_deleted_when_its_name_is_typed(visitor: Visitor, world: World, api: Api) -> None:
    app = await world.app()
    await open_app(visitor, app)
    page = visitor.page
    await page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("to delete it").fill("Something else")
    await expect(dialog.get_by_role("button", name="Delete")).to_be_disabled()
    await dialog.get_by_label("to delete it").fill(app["name"])
    await dialog.get_by_role("button", name="Delete").click()
    await expect(page.get_by_text("No apps yet")).to_be_visible()
    assert (await api.get(f"/apps/{app['id']}")).status == 404


async def test_hostile_names_are_only_texts(visitor: Visitor, world: World) -> None:
    app = await world.app(name=HOSTILE, description=HOSTILE)
    test = await world.test(name=HOSTILE)
    build = await world.build(app, HOSTILE)
    await world.attach(app, test, pinned_version=HOSTILE)
    await open_app(visitor, app, "?attach=script")
    page = visitor.page
    await expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)
    await expect(page.locator("#builds").get_by_text("current", exact=True)).to_be_visible()
    await expect(page).to_have_title(f"{HOSTILE} - App - mobiletest")
    await visitor.open(f"/apps/{app['id']}/builds/{build['id']}")
    await page.get_by_role("button", name="Stay on this build").click()
    await expect(page.get_by_role("status").filter(has_text=HOSTILE)).to_be_visible()
    for path in ("/", f"/apps/{app['id']}?attach=script", f"/apps/{app['id']}/builds/{build['id']}"):
        assert await defects(visitor, path) == {}, path


async def test_the_page_is_accessible(ci: Ci, member: Visitor, world: World) -> None:
    build, _ = await ci.run("1.0.0", "main", pay=False)
    await ci.world.reported(build, 2)
    empty = await world.app()
    for path in ("/", f"/apps/{ci.app['id']}?attach=pay", f"/apps/{empty['id']}?attach="):
        assert await defects(member, path) == {}, path
    for name in ("Edit", "Delete"):
        await member.page.get_by_role("button", name=name, exact=True).first.click()
        assert await member.violations() == [], name
        await member.page.keyboard.press("Escape")


async def test_a_pin_to_a_build_that_does_not_exist_says_so(visitor: Visitor, world: World) -> None:
    """Where it is set, and wherever the target of the test is shown."""
    app, _, test, _ = await world.passing_app()
    await open_app(visitor, app)
    page = visitor.page
    row = page.get_by_role("region", name="Attached tests").get_by_role("row").filter(has_text=test["name"])
    await row.locator("summary").click()
    await row.get_by_role("combobox").fill("9.9.9")
    await row.get_by_role("button", name="Save").click()
    await expect(row.get_by_text("No build has the version 9.9.9: upload one or unpin the test.")).to_be_visible()
    await visitor.open(f"/apps/{app['id']}/coverage")
    await expect(page.get_by_text("No build has the version 9.9.9")).to_be_visible()
    await visitor.open(f"/tests/{test['id']}/run")
    await expect(page.get_by_text("No build has the version 9.9.9")).to_be_visible()
    await expect(page.get_by_role("button", name="Run on")).to_have_count(0)
    created(await world.api.patch(f"/apps/{app['id']}", {"current_version": "8.8.8"}))
    await open_app(visitor, app)
    await expect(page.get_by_text("No build has the version 8.8.8: upload one or choose another")).to_be_visible()
