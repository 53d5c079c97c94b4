"""What is broken now on an app, and the pages of its branches and pull requests."""

import re

from playwright.async_api import expect

from tests.dashboard.conftest import Visitor
from tests.dashboard.pages import HOSTILE, defects
from tests.e2e.client import created
from tests.e2e.test_gate import Ci
from tests.e2e.world import FAILING, PASSING


async def test_an_app_begins_with_what_is_broken_on_its_newest_build(ci: Ci, visitor: Visitor) -> None:
    await ci.run("1.0.0", "main")
    build, execution = await ci.run("1.1.0", "feature/pay", pay=False)
    await ci.world.reported(build, 2)
    await visitor.sign_in()
    await visitor.open(f"/apps/{ci.app['id']}")
    page, broken = visitor.page, visitor.page.locator("#broken")
    await expect(page.get_by_role("heading", level=2).first).to_have_text("Broken now")
    await expect(broken).to_contain_text("Build 1.1.0 of feature/pay")
    await expect(broken).to_contain_text("1 newly broken, 0 still failing")
    test = broken.get_by_role("listitem").filter(has_text="Pay")
    await expect(test).to_contain_text("Since 1.1.0 of feature/pay, passed on 1.0.0 of main")
    await expect(page.locator("#builds").get_by_role("row").filter(has_text="1.1.0")).to_contain_text("feature/pay")
    await page.get_by_role("combobox", name="Branch").fill("main")
    await page.get_by_role("button", name="Show").click()
    await expect(page).to_have_url(f"{visitor.url}/apps/{ci.app['id']}?branch=main#broken")
    await expect(broken).to_contain_text("1.0.0")
    await expect(broken).not_to_contain_text("1 newly broken")
    await visitor.open(f"/apps/{ci.app['id']}?branch=none")
    await expect(broken).to_contain_text("No finished run on a build names the branch none")
    await visitor.open(f"/apps/{ci.app['id']}")
    await test.get_by_role("link", name="Pay", exact=True).click()
    await expect(page).to_have_url(re.compile(f"/executions/{execution['id']}/runs/"))


async def test_a_branch_says_what_it_broke_and_what_fails_on_main_anyway(ci: Ci, visitor: Visitor) -> None:
    await ci.run("1.0.0", "main")
    await ci.run("1.1.0", "main", search=False)
    build, _ = await ci.run("1.2.0", "feature/a b", pay=False, search=False)
    await ci.world.reported(build, 2)
    await visitor.sign_in()
    await visitor.open(f"/apps/{ci.app['id']}/branches")
    page = visitor.page
    await page.get_by_label("Name").fill(" FEATURE/")
    await page.get_by_role("button", name="Search").click()
    await expect(page.get_by_role("row")).to_have_count(2)
    await page.get_by_role("link", name="feature/a b").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("feature/a b")
    await expect(page.locator("#broken")).to_contain_text("Build 1.2.0 compared with 1.1.0 of main: 1 newly broken")
    await expect(page.locator("[aria-labelledby=broken-new]")).to_contain_text("Pay")
    await expect(page.locator("[aria-labelledby=broken-still]")).to_contain_text("Search")
    await expect(page.locator("#builds").get_by_role("row")).to_have_count(2)
    await expect(page.get_by_role("region", name="Executions").get_by_role("row")).to_have_count(2)
    assert await defects(visitor, page.url.removeprefix(visitor.url)) == {}
    await visitor.open(f"/apps/{ci.app['id']}/branches/none")
    await expect(page.get_by_role("heading", level=1)).not_to_have_text("none")


async def test_apps_come_worst_first_and_those_of_one_name_are_told_apart(ci: Ci, visitor: Visitor) -> None:
    await ci.run("1.0.0", "main")
    build, _ = await ci.run("1.1.0", "feature/pay", pay=False)
    await ci.world.reported(build, 2)
    for _ in range(2):
        created(await ci.world.api.post("/apps", {"name": "A twin", "platform": "Android"}))
    await visitor.sign_in()
    await visitor.open("/")
    page = visitor.page
    rows = page.get_by_role("region", name="Apps").locator("tbody tr")
    await expect(rows).to_have_count(3)
    await expect(rows.first).to_contain_text(re.compile(r"broken\s+1\s+0\s+0\s+1\s+1\.1\.0\s+feature/pay\s+"))
    twins = await rows.filter(has_text="A twin").get_by_role("rowheader").all_inner_texts()
    assert len(set(twins)) == 2
    await expect(rows.last).to_contain_text("no verdict")
    await page.get_by_label("Order").select_option("Name")
    await page.get_by_role("button", name="Search").click()
    await expect(rows.first).to_contain_text("A twin")
    await expect(page).to_have_url(re.compile("sort=name"))
    assert await defects(visitor, "/") == {}


async def test_a_hostile_branch_and_its_pull_request_are_texts_that_lead_to_their_pages(
    ci: Ci, visitor: Visitor
) -> None:
    name = f"feature/a b/{HOSTILE}"
    build = await ci.world.build(ci.app, "1.0.0")
    headers = {"X-CI-Branch": name, "X-CI-PR-Number": "7", "X-CI-Commit-SHA": "c0ffee"}
    execution = await ci.world.ended((await ci.world.start(await ci.world.workflow(ci.pay), headers=headers))["id"])
    await ci.world.reported(build, 1)
    await visitor.sign_in()
    page, app = visitor.page, f"/apps/{ci.app['id']}"
    for shown in (f"{app}/branches", f"{app}/pull-requests/7"):
        assert await defects(visitor, shown) == {}
    await visitor.open(f"/executions/{execution['id']}")
    await expect(page.get_by_role("link", name="pull request 7")).to_have_attribute("href", f"{app}/pull-requests/7")
    await page.get_by_role("link", name="feature/a b/").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("feature/a b/<script>")
    assert await defects(visitor, page.url.removeprefix(visitor.url)) == {}


async def test_pull_requests_of_one_number_in_two_repositories_have_no_verdict_together(
    ci: Ci, visitor: Visitor
) -> None:
    await ci.run("1.0.0", "main")
    for version, repository, pay in (("1.1.0", "https://github.com/team/app", FAILING), ("1.2.0", HOSTILE, PASSING)):
        await ci.world.build(ci.app, version)
        created(await ci.world.api.patch(f"/tests/{ci.pay['id']}", {"steps": pay}))
        names = {"X-CI-Branch": version, "X-CI-PR-Number": "5", "X-CI-Repository": repository, "X-CI-System": "github"}
        started = await ci.world.start(await ci.world.workflow(ci.pay), headers=names)
        await ci.gate(await ci.world.ended(started["id"]))
    await visitor.sign_in()
    path, page = f"/apps/{ci.app['id']}/pull-requests/5", visitor.page
    assert await defects(visitor, path) == {}
    await expect(page.get_by_text("2 repositories have a pull request 5. They are different changes")).to_be_visible()
    await expect(page.locator("#broken")).not_to_contain_text("newly broken")
    await expect(page.get_by_role("link", name="Open the")).to_have_count(0)
    await expect(page.locator("#builds").get_by_role("row")).to_have_count(3)
    await page.locator("#broken").get_by_role("link", name="team/app").click()
    await expect(page.locator("#broken")).to_contain_text("Build 1.1.0 compared with 1.0.0 of main: 1 newly broken")
    await expect(page.get_by_role("link", name="Open the")).to_have_attribute(
        "href", "https://github.com/team/app/pull/5"
    )
    await expect(page.locator("#broken")).not_to_contain_text("tested this build, too")
    for part in (page.locator("#builds"), page.get_by_role("region", name="Executions", exact=True).first):
        await expect(part.locator("tbody tr")).to_have_count(1)
    assert await defects(visitor, page.url.removeprefix(visitor.url)) == {}
    await page.get_by_role("button", name="Apply").click()
    await expect(page.get_by_text("This is that of one of them")).to_be_visible()
    await page.locator("#broken").get_by_role("link", name="<script>").click()
    await expect(page.locator("#broken")).to_contain_text("It broke nothing")
    await page.get_by_role("region", name="Executions", exact=True).get_by_role("link").nth(1).click()
    await page.get_by_role("link", name="pull request 5").click()
    await expect(page.locator("#broken")).to_contain_text("It broke nothing")
