"""The coverage: what has no result stands out, and is run by one click."""

from playwright.async_api import expect

from tests.dashboard.conftest import Visitor
from tests.e2e.test_gate import Ci
from tests.e2e.world import World


async def test_what_is_missing_is_run_by_one_click(member: Visitor, world: World) -> None:
    """A stale test and one that never ran are run on their target; afterwards nothing is missing.

    They run on no other app to which they are attached, and on no build that was uploaded after the page was loaded.
    """
    app, stale, new = await world.app(), await world.test(name="Stale one"), await world.test(name="New one")
    build = await world.build(app, "1.0.0")
    await world.attach(app, stale)
    await world.run(await world.workflow(stale))
    await world.reported(build, 1)
    await world.attach(app, new)
    newest, other = await world.build(app, "2.0.0"), await world.app("iOS")
    await world.build(other, "1.0.0")
    for test in (stale, new):
        await world.attach(other, test)
    page = member.page
    await member.open(f"/apps/{app['id']}/coverage")
    rows = page.get_by_role("region", name="Tests").get_by_role("row")
    await expect(rows.nth(1)).to_contain_text("New one")
    await expect(rows.nth(1).locator(".badge.never-run")).to_be_visible()
    await expect(rows.nth(2).locator(".badge.stale")).to_be_visible()
    await expect(rows.nth(2)).to_contain_text("1.0.0")
    assert await member.violations() == []
    latest = await world.build(app, "3.0.0")
    await page.get_by_role("button", name="Run what is missing").click()
    await expect(page.get_by_role("heading", name=f"What was missing of {app['name']}")).to_be_visible()
    await world.reported(newest, 2)
    rows = page.get_by_role("region", name="Runs").get_by_role("row")
    await expect(rows).to_have_count(3)
    await world.api.delete(f"/apps/builds/{latest['id']}")
    await member.open(f"/apps/{app['id']}/coverage")
    await expect(page.get_by_text("Every attached test has a result")).to_be_visible()
    await expect(page.get_by_role("button", name="Run what is missing")).to_have_count(0)


async def test_the_states_are_filtered_by_the_address(member: Visitor, world: World) -> None:
    app, test = await world.app(), await world.test()
    await world.build(app, "1.0.0")
    await world.attach(app, test)
    page = member.page
    await member.open(f"/apps/{app['id']}/coverage")
    await page.get_by_role("link", name="show only these").click()
    await expect(page.get_by_role("link", name=test["name"])).to_be_visible()
    assert page.url.endswith("?state=never+run")
    await member.open(f"/apps/{app['id']}/coverage?state=passed")
    await expect(page.get_by_role("link", name=test["name"])).to_have_count(0)


async def test_after_an_upload_a_test_that_ran_shows_its_last_result(member: Visitor, ci: Ci, world: World) -> None:
    """On the coverage and in the list of tests; also one that has no verdict on any build is not "never run"."""
    build, _ = await ci.run("1.0.0", "main", pay=False)
    await world.reported(build, 2)
    await world.build(ci.app, "2.0.0")
    for path in (f"/apps/{ci.app['id']}/coverage", f"/tests?app_id={ci.app['id']}"):
        await member.open(path)
        row = member.page.get_by_role("row").filter(has_text="Pay")
        await expect(row.locator(".badge.failed")).to_be_visible()
        await expect(row).to_contain_text("on 1.0.0")
        await expect(row.get_by_role("link", name="failed")).to_be_visible()
        await expect(member.page.get_by_role("row").get_by_text("never run", exact=True)).to_have_count(0)
