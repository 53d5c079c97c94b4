"""Addresses and page numbers that do not exist have pages of their own."""

import pytest
from playwright.async_api import expect

from tests.dashboard.conftest import Visitor
from tests.dashboard.pages import defects_shown
from tests.e2e.client import Api, fresh
from tests.e2e.conftest import fresh_key
from tests.e2e.world import UNKNOWN, World
from tests.shared_infrastructure import SharedStack

LISTS = (
    "/",
    "/executions",
    "/failures",
    "/settings",
    "/settings/quarantine",
    "/settings/secrets",
    "/tests",
    "/tests/flaky",
    "/workflows",
)
OF_TEST = ("/tests/{test}/versions", "/tests/{test}/history")
OF_APP = (
    "/apps/{app}",
    "/apps/{app}/branches",
    "/apps/{app}/builds/{build}",
    "/apps/{app}/coverage",
    "/apps/{app}/durations",
    "/apps/{app}/matrix",
)


async def test_an_unknown_address_is_a_page_for_people_only(visitor: Visitor, api: Api, anonymous: Api) -> None:
    page = visitor.page
    for path in ("/aps", "/apps/1/2/3/4", "/tests/a/b/c"):
        answer = await page.goto(f"{visitor.url}{path}")
        assert answer
        assert answer.status == 404
        await expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    assert await defects_shown(visitor) == {}
    await expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    await visitor.sign_in()
    await visitor.open("/aps")
    await expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    await expect(page.get_by_role("link", name="Sign in")).to_have_count(0)
    await page.get_by_role("link", name="All apps").click()
    await expect(page.get_by_role("heading", name="Apps", exact=True)).to_be_visible()
    for caller in (api, anonymous):
        unknown = await caller.get("/aps", headers={"Accept": "text/html"})
        assert (unknown.status, unknown.body) == (404, {"detail": "Not Found", "code": "PATH_UNKNOWN"})


async def test_what_does_not_exist_has_one_page_whoever_owns_it(
    member: Visitor, world: World, stack: SharedStack
) -> None:
    """Ids that are none, unknown ones, builds of other apps, and what other organisations have."""
    app, build, _, workflow = await world.passing_app()
    other, *_ = await world.passing_app()
    execution = await world.run(workflow)
    async with Api(stack.url, await fresh_key(stack, fresh("Other"))) as stranger:
        theirs, _, their_test, their_workflow = await World(stranger).passing_app()
        their_execution = await World(stranger).start(their_workflow)
    for path in (
        *(f"/apps/{each}" for each in ("abc", UNKNOWN, theirs["id"])),
        *(f"/apps/{app['id']}/builds/{each}" for each in ("abc", UNKNOWN)),
        f"/apps/{other['id']}/builds/{build['id']}",
        *(f"/tests/{each}" for each in ("abc", UNKNOWN, their_test["id"])),
        *(f"/executions/{each}" for each in ("abc", UNKNOWN, their_execution["id"])),
        *(f"/workflows/{each}" for each in ("abc", UNKNOWN, their_workflow["id"], f"{UNKNOWN}/edit")),
        *(f"/apps/{each}/branches" for each in ("abc", UNKNOWN, theirs["id"])),
        *(f"/apps/{each}/durations" for each in ("abc", UNKNOWN, theirs["id"])),
        *(f"/apps/{app['id']}/{each}" for each in ("branches/none", "pull-requests/7", f"failures/{'0' * 16}")),
        *(f"/executions/{execution['id']}/runs/{each}" for each in ("abc", UNKNOWN)),
    ):
        answer = await member.page.goto(f"{member.url}{path}")
        assert answer
        assert answer.status == 404, path
        await expect(member.page.get_by_role("heading", name="Not found")).to_be_visible()
        await expect(member.page.get_by_role("link", name="All apps")).to_be_visible()


async def test_an_unknown_page_of_a_list_leads_to_the_first_and_the_last(member: Visitor, world: World) -> None:
    app, build, test, _ = await world.passing_app()
    ids = {"app": app["id"], "build": build["id"], "test": test["id"]}
    for path in (each.format(**ids) for each in (*LISTS, *OF_TEST, *OF_APP)):
        for number in ("abc", "0", "99999", "99999999999999999999"):
            answer = await member.page.goto(f"{member.url}{path}?page={number}&search=")
            assert answer
            assert answer.status == 404, (path, number)
            await expect(member.page.get_by_role("heading", name=f"No page {number}")).to_be_visible()
            await expect(member.page.get_by_role("link", name="First page")).to_have_attribute(
                "href", f"{path}?search=&page=1"
            )


async def test_the_last_page_is_offered(member: Visitor, world: World) -> None:
    test = await world.test()
    for number in range(20):
        await world.api.patch(f"/tests/{test['id']}", {"steps": [f"Step {number}"]})
    page = member.page
    await member.open(f"/tests/{test['id']}/versions?page=7")
    await expect(page.get_by_text("The list has 2 pages.")).to_be_visible()
    await page.get_by_role("link", name="Last page").click()
    await expect(page.get_by_text("Page 2 of 2")).to_be_visible()


@pytest.mark.parametrize("name", ["page", "workers"])
async def test_the_queue_goes_on_when_its_page_has_gone(member: Visitor, name: str) -> None:
    """Else it would stop updating itself when the queue becomes shorter."""
    await member.open(f"/queue?{name}=3")
    await expect(member.page.get_by_text("There is no page 3 of the")).to_be_visible()
    await expect(member.page.get_by_role("heading", name="Workers and devices")).to_be_visible()
    await member.open(f"/queue?{name}=none")
    await expect(member.page.get_by_role("heading", name="No page none")).to_be_visible()


async def test_a_filter_that_is_not_understood_is_named(member: Visitor) -> None:
    await member.open("/?platform=Symbian")
    await expect(member.page.get_by_role("heading", name="Not understood")).to_be_visible()
    await expect(member.page.get_by_text('"platform"')).to_be_visible()
    await member.page.get_by_role("link", name="Show the page without filters").click()
    await expect(member.page.get_by_role("heading", name="Apps", exact=True)).to_be_visible()
