"""What tells pages apart in the tabs of a browser, and the organisations in the bar at the top."""

import pytest
from playwright.async_api import expect

from tests.dashboard.conftest import Visitor
from tests.dashboard.test_hostile_requests import PAGES
from tests.e2e.client import Api
from tests.e2e.world import World


async def test_each_page_has_a_title_of_its_own(member: Visitor, world: World, api: Api) -> None:
    """A redirection and the page to sign in, which a member does not see, have none; nothing has failed."""
    app, build, test, workflow = await world.passing_app()
    execution = await world.run(workflow, headers={"X-CI-Branch": "main", "X-CI-PR-Number": "7"})
    await world.reported(build, 1)
    run = await world.only_run(execution)
    ids = {"app": app["id"], "build": build["id"], "test": test["id"], "workflow": workflow["id"]}
    ids |= {"execution": execution["id"], "run": run["id"], "branch": "main", "number": "7"}
    titles: dict[str, str] = {}
    without = {"/executions/{execution}/tests/{test}", "/sign-in", "/apps/{app}/failures/{fingerprint}"}
    for template in PAGES.keys() - without:
        await member.open(template.format(**ids))
        titles[template] = await member.page.title()
    assert len(set(titles.values())) == len(titles), titles
    assert titles["/executions/{execution}"] == f"passed - {workflow['name']} - mobiletest"
    assert titles["/executions/{execution}/runs/{run}"].startswith(f"passed - {test['name']} - ")
    assert titles["/apps/{app}/builds/{build}"].startswith("gate passes - Build 1.0.0 - ")


async def test_the_title_of_a_live_page_has_the_result_when_it_ends(member: Visitor, world: World) -> None:
    execution = await world.start(await world.slow_workflow(minutes=0.05))
    await member.open(f"/executions/{execution['id']}")
    page = member.page
    assert not (await page.title()).startswith("passed")
    icon = await page.locator('link[rel="icon"]').get_attribute("href")
    await expect(page.locator("#execution:not([data-live])")).to_have_count(1)
    assert (await page.title()).startswith("passed - ")
    assert await page.locator('link[rel="icon"]').get_attribute("href") == icon


@pytest.mark.parametrize("width", [1280, 390])
async def test_the_organisation_is_named_on_each_page(member: Visitor, world: World, width: int) -> None:
    app, build, test, _ = await world.passing_app()
    await member.page.set_viewport_size({"width": width, "height": 800})
    for path in (
        "/",
        f"/apps/{app['id']}",
        f"/apps/{app['id']}/builds/{build['id']}",
        f"/tests/{test['id']}",
        "/queue",
    ):
        await member.open(path)
        await expect(member.page.get_by_role("banner").get_by_text("Test", exact=True)).to_be_visible()
