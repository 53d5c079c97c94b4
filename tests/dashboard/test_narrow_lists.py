"""Lists on a phone: cards, each of which begins with its result and shows everything."""

from playwright.async_api import expect

from tests.dashboard.conftest import Visitor
from tests.dashboard.pages import HOSTILE
from tests.e2e.world import FAILING, World

PHONE = {"width": 390, "height": 844}
# Cells that end beyond the list, and cards whose result is not left of and above everything else.
CUT = """table => [...table.querySelectorAll("tbody :is(td, th)")].filter((cell) =>
    cell.getBoundingClientRect().right > table.getBoundingClientRect().right + 1 ||
    cell.scrollWidth > cell.clientWidth + 1
  ).map((cell) => cell.textContent)"""
LATE = """table => [...table.tBodies[0].rows].filter((row) => {
    const result = row.querySelector(".result").getBoundingClientRect();
    const others = [...row.cells].filter((cell) => cell.checkVisibility() && !cell.matches(".result"))
      .map((cell) => cell.getBoundingClientRect());
    return others.some((place) => place.bottom <= result.top || (place.left < result.left && place.top <= result.top));
  }).map((row) => row.textContent)"""


async def test_rows_are_cards_that_begin_with_the_result(member: Visitor, world: World) -> None:
    app, test = await world.app(), await world.test(FAILING, name=HOSTILE)
    build = await world.build(app, "1.0.0")
    await world.attach(app, test)
    ended = await world.run(await world.workflow(test))
    page = member.page
    await page.set_viewport_size(PHONE)
    for path in (
        "/executions",
        f"/executions/{ended['id']}",
        f"/tests/{test['id']}/history",
        f"/tests?app_id={app['id']}",
        f"/apps/{app['id']}/coverage",
        f"/apps/{app['id']}/builds/{build['id']}",
    ):
        await member.open(path)
        tables = page.locator("table:has(.result)")
        await expect(tables.first).to_be_visible()
        for table in await tables.all():
            assert await table.evaluate(CUT) == [], path
            assert await table.evaluate(LATE) == [], path


async def test_the_history_names_the_app_of_its_runs(member: Visitor, world: World) -> None:
    """One strip for each, so that a pass on one app is no recovery of another."""
    test = await world.test(FAILING)
    apps = [await world.app(platform=platform) for platform in ("Android", "iOS")]
    for app in apps:
        await world.build(app, "1.0.0")
        await world.attach(app, test)
    await world.run(await world.workflow(test))
    await member.open(f"/tests/{test['id']}/history")
    page = member.page
    strips = page.get_by_role("region", name="Results, oldest first")
    table = page.get_by_role("region", name="Runs, newest first").get_by_role("table")
    for app in apps:
        await expect(strips.get_by_role("heading", level=3).filter(has_text=app["name"])).to_have_count(1)
        await expect(table.get_by_role("row").filter(has_text=app["name"])).to_have_count(1)
