"""The page of a build: health, file, runs, comparison, breakages and gate."""

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Locator, expect

from tests.dashboard.conftest import Visitor
from tests.dashboard.pages import defects, defects_shown
from tests.e2e.client import Api, created
from tests.e2e.test_gate import Ci
from tests.e2e.world import FAILING, UNKNOWN, World
from tests.eventually import eventually
from tests.integration.executor.models import model


async def open_build(visitor: Visitor, build: Any, query: str = "") -> None:
    await visitor.sign_in()
    await visitor.open(f"/apps/{build['app_id']}/builds/{build['id']}{query}")


def list_of(visitor: Visitor, name: str) -> Locator:
    """The rows of one list of the comparison."""
    return visitor.page.get_by_role("region", name=name).locator("tbody tr")


async def test_the_page_says_what_broke_since_the_build_before(ci: Ci, visitor: Visitor) -> None:
    first, _ = await ci.run("1.0.0", "main", search=False)
    second, _ = await ci.run("1.1.0", "main", pay=False)
    await ci.world.reported(second, 2)
    await open_build(visitor, second)
    page = visitor.page
    broken, fixed = list_of(visitor, "Newly broken"), list_of(visitor, "Fixed")
    await expect(broken).to_contain_text("Pay")
    await expect(broken).to_contain_text("Since 1.1.0 of main, passed on 1.0.0 of main: c1.0.0..c1.1.0")
    await expect(broken).to_contain_text("Nothing of this name")
    await expect(fixed).to_contain_text("Search")
    await expect(page.locator("dl.cards")).to_contain_text("50 %")
    gate = page.locator("section", has=page.get_by_role("heading", name="Gate")).last
    await expect(gate).to_contain_text("CI must not continue")
    await expect(gate.get_by_role("row").filter(has_text="Pay")).to_contain_text("newly broken")
    await expect(page.locator("dl.facts")).to_contain_text("c1.1.0")
    await broken.get_by_role("link", name="1.0.0").click()
    await expect(page).to_have_url(f"{visitor.url}/apps/{ci.app['id']}/builds/{first['id']}")
    await expect(page.get_by_text("There is no earlier build with a verdict on this branch")).to_be_visible()


async def test_any_build_can_be_compared_with(ci: Ci, visitor: Visitor) -> None:
    first, _ = await ci.run("1.0.0", "main")
    await ci.run("1.1.0", "main", pay=False)
    third, _ = await ci.run("1.2.0", "main", pay=False)
    await ci.world.reported(third, 2)
    await open_build(visitor, third)
    page = visitor.page
    await expect(list_of(visitor, "Still failing")).to_contain_text("Pay")
    await page.get_by_label("With build").select_option("1.0.0")
    await page.get_by_role("button", name="Compare").click()
    await expect(list_of(visitor, "Newly broken")).to_contain_text("Since 1.1.0 of main")
    await expect(page).to_have_url(
        f"{visitor.url}/apps/{ci.app['id']}/builds/{third['id']}?base={first['id']}#comparison"
    )
    await expect(page.get_by_label("With build")).to_have_value(first["id"])
    await visitor.open(f"/apps/{ci.app['id']}/builds/{third['id']}?base={UNKNOWN}")
    await expect(page.locator("#comparison")).to_contain_text("Build not found")
    await expect(page.locator("#screen-changes")).to_contain_text("Build not found")


async def test_another_base_branch_can_be_named(ci: Ci, visitor: Visitor) -> None:
    """Of a repository whose default branch is not called main."""
    await ci.run("1.0.0", "master")
    second, execution = await ci.run("1.1.0", "pay", pay=False)
    await ci.world.reported(second, 2)
    await open_build(visitor, second)
    page = visitor.page
    gate = page.locator("#gate")
    await expect(gate).to_contain_text("No base branch was named, so main is assumed.")
    await expect(gate.get_by_role("row").filter(has_text="Pay")).to_contain_text("not run before")
    await expect(page.locator("#comparison")).to_contain_text("no earlier build with a verdict on this branch or main")
    await gate.get_by_label("Base branch").fill("master")
    await gate.get_by_role("button", name="Apply").click()
    await expect(gate.get_by_role("row").filter(has_text="Pay")).to_contain_text("newly broken")
    await expect(gate).not_to_contain_text("is assumed")
    await expect(page.locator("#comparison")).to_contain_text("Since 1.0.0 of master: 1 newly broken")
    await page.get_by_role("button", name="Compare").click()
    await expect(gate).to_contain_text("Failures that master has too do not block.")
    await visitor.open(f"/executions/{execution['id']}")
    await page.get_by_label("Base branch").fill("master")
    await page.get_by_role("button", name="Apply").click()
    await expect(page.get_by_role("row").filter(has_text="Pay")).to_contain_text("newly broken")
    again = await ci.run("1.2.0", "pay", pay=False, base_branch="master")
    await visitor.open(f"/executions/{again[1]['id']}")
    await expect(page.get_by_role("row").filter(has_text="Pay")).to_contain_text("newly broken")
    await expect(page.get_by_label("Base branch")).to_have_value("master")


@pytest.mark.parametrize(
    ("repository", "link"),
    [
        ("https://git.example/acme/shop.git", "https://git.example/acme/shop/compare/c1...c2%22%3E"),
        ("javascript:alert(1)//https://git.example", None),
        ("acme/shop", None),
    ],
)
async def test_a_range_of_commits_is_a_link_if_the_repository_is_one(
    ci: Ci, visitor: Visitor, repository: str, link: str | None
) -> None:
    workflow = await ci.world.workflow(ci.pay, run_config={"execution_mode": {"retries": 0}})
    for version, commit in (("1", "c1"), ("2", 'c2">')):
        build = await ci.world.build(ci.app, version)
        if version == "2":
            created(await ci.world.api.patch(f"/tests/{ci.pay['id']}", {"steps": FAILING}))
        attribution = {"X-CI-Branch": "main", "X-CI-Commit-SHA": commit, "X-CI-Repository": repository}
        execution = await ci.world.ended((await ci.world.start(workflow, headers=attribution))["id"])
    await ci.world.ended((await ci.world.start(workflow))["id"])  # by hand, which names nothing
    await ci.world.reported(build, 2)
    await open_build(visitor, build)
    newly_broken = list_of(visitor, "Newly broken")
    await expect(newly_broken).to_contain_text('c1..c2">')
    ranges = newly_broken.get_by_role("link", name="c1..c2")
    assert [await each.get_attribute("href") for each in await ranges.all()] == ([link] if link else [])
    await visitor.open(f"/executions/{execution['id']}/tests/{ci.pay['id']}")
    await expect(visitor.page.get_by_role("note")).to_contain_text('Since 2 of main, passed on 1 of main: c1..c2">')


async def test_a_gate_that_lets_ci_continue(ci: Ci, visitor: Visitor) -> None:
    build, _ = await ci.run("1.0.0", "main")
    await ci.world.reported(build, 2)
    await open_build(visitor, build)
    await expect(visitor.page.get_by_text("CI may continue.")).to_be_visible()


async def test_a_build_without_runs(visitor: Visitor, world: World) -> None:
    build = await world.build(await world.app(), "1.0.0", package_name="com.example.shop")
    await open_build(visitor, build)
    page = visitor.page
    await expect(page.get_by_text("No test has run on this build yet")).to_be_visible()
    await expect(page.get_by_text("Nothing has been executed on this build yet")).to_be_visible()
    facts = page.locator("dl.facts")
    await expect(facts).to_contain_text("com.example.shop")
    await expect(facts).to_contain_text("17 bytes")
    await expect(facts.locator("#sha256")).to_have_text(build["artifact_url"].rpartition("/")[2])
    async with page.expect_download() as download:
        await page.get_by_role("link", name="Download").click()
    assert (await download.value).suggested_filename == "app.bin"


async def test_runs_have_pages(visitor: Visitor, world: World) -> None:
    app = await world.app()
    build = await world.build(app, "1.0.0")
    tests = [await world.test(["launchApp"], name=f"Test {number:02}") for number in range(21)]
    for test in tests:
        await world.attach(app, test)
    await world.run(await world.workflow(*tests))
    await world.reported(build, len(tests))
    await open_build(visitor, build)
    page = visitor.page
    await expect(page.locator("#runs tbody tr")).to_have_count(20)
    await page.get_by_label("Result").get_by_role("link", name="passed").click()
    await expect(page.locator("#runs")).to_contain_text("21 that match")
    await page.get_by_role("link", name="Next").click()
    await expect(page).to_have_url(f"{visitor.url}/apps/{app['id']}/builds/{build['id']}?result=passed&page=2")
    await expect(page.locator("#runs tbody tr")).to_have_count(1)


async def test_a_build_is_edited_made_current_and_deleted(visitor: Visitor, world: World, api: Api) -> None:
    """A version that another build has is said beside its field."""
    app = await world.app()
    build, _ = await world.build(app, "1.0.0"), await world.build(app, "2.0.0")
    await open_build(visitor, build)
    page = visitor.page
    await page.get_by_role("button", name="Edit").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Version").fill("2.0.0")
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog.get_by_role("alert").filter(has_text="already has a build of version 2.0.0")).to_be_visible()
    await dialog.get_by_label("Version").fill("1.0.1")
    await dialog.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("heading", name="Build 1.0.1")).to_be_visible()
    await expect(page.locator("dl.facts")).to_contain_text("17 bytes")
    await page.get_by_role("button", name="Make current").click()
    await expect(page.locator("header").get_by_text("current", exact=True)).to_be_visible()
    assert created(await api.get(f"/apps/{app['id']}"))["current_build_id"] == build["id"]
    page.once("dialog", lambda question: question.dismiss())
    await page.get_by_role("button", name="Delete").click()
    page.once("dialog", lambda question: question.accept())
    await page.get_by_role("button", name="Delete").click()
    await expect(page).to_have_url(f"{visitor.url}/apps/{app['id']}")
    assert (await api.get(f"/apps/builds/{build['id']}")).status == 404


async def test_a_build_of_another_app_is_not_found(member: Visitor, world: World) -> None:
    build = await world.build(await world.app(), "1.0.0")
    other = await world.app()
    for path in (f"/apps/{other['id']}/builds/{build['id']}", f"/apps/{build['app_id']}/builds/{UNKNOWN}"):
        await member.open(path)
        await expect(member.page.get_by_role("heading", name="Not found")).to_be_visible()


async def test_the_page_shows_what_changed_on_the_screens(world: World, member: Visitor, tmp_path: Path) -> None:
    app = await world.app()
    test = await world.test([{"tapOn": {"id": "go"}}, 'I see "Done"'], app=app)
    workflow = await world.workflow(test)
    builds = []
    for version, content in (("1.0.0", model()), ("1.1.0", model().replace(b"text: Go,", b"text: Go on,"))):
        file = tmp_path / f"{version}.yaml"
        file.write_bytes(content)
        builds.append(await world.upload(app, file, version=version))
        await world.run(workflow, headers={"X-CI-System": "ci", "X-CI-Branch": "main"})
    await world.reported(builds[1], 1)
    path = f"/apps/{app['id']}/builds/{builds[1]['id']}"
    await member.open(path)
    section = member.page.locator("#screen-changes")
    await expect(section).to_contain_text("0 new, 0 gone, 1 changed, 0 not known, by 1 run of this build")
    await expect(section.get_by_role("listitem")).to_have_text('button "Go" was renamed to "Go on"')
    for name in ("before", "now"):
        picture = section.get_by_role("img", name=f"The screen {name}")
        await picture.scroll_into_view_if_needed()
        await expect(picture).to_have_js_property("complete", True)
        assert await picture.evaluate("image => image.naturalWidth") > 0
    assert await defects_shown(member) == {}
    assert await defects(member, f"{path}/screens") == {}
    await expect(member.page.locator("figcaption").filter(has_text="Now, simulated: step")).not_to_have_count(0)
    await member.open(f"/apps/{app['id']}/builds/{builds[0]['id']}/screens")
    await expect(section).to_contain_text("There is no earlier build with a verdict")
    await expect(member.page.get_by_role("link", name="1.0.0")).to_be_visible()


async def test_the_page_is_accessible(ci: Ci, member: Visitor) -> None:
    await ci.run("1.0.0", "main", search=False)
    build, _ = await ci.run("1.1.0", "main", pay=False)
    await ci.world.reported(build, 2)
    empty = await ci.world.build(ci.app, "2.0.0")
    for each in (build, empty):
        assert await defects(member, f"/apps/{ci.app['id']}/builds/{each['id']}") == {}


async def test_a_failed_run_says_whether_the_test_is_flaky_and_leads_to_the_next_failure(
    ci: Ci, visitor: Visitor
) -> None:
    """Whether it is mine, without leaving the page: what the gate says, the results before, and a quarantine."""
    await ci.run("1.0.0", "main")
    build, execution = await ci.run("1.1.0", "main", pay=False, search=False)
    await ci.world.reported(build, 2)
    await visitor.sign_in()
    await visitor.open(f"/executions/{execution['id']}/tests/{ci.pay['id']}")
    page, failure = visitor.page, visitor.page.get_by_role("note").first
    await expect(failure).to_contain_text("Blocks the gate: newly broken. Fails here, and passed on main")
    assert (await page.locator("main").inner_text()).count(str(await failure.locator(".message").inner_text())) == 1
    about = page.get_by_role("region", name="About this run")
    await expect(about).to_contain_text(ci.app["name"])
    await expect(about.get_by_title("c1.1.0")).to_be_visible()
    results = page.get_by_role("region", name="The test on this app")
    await expect(results).to_contain_text("too few results")
    await expect(results.locator(".strip a")).to_have_count(2)
    await expect(results.locator(".strip [aria-current]")).to_have_class("cell failed")
    assert await defects_shown(visitor) == {}
    await results.get_by_role("button", name="Quarantine").click()
    await page.get_by_label("Reason").fill("SHOP-7 is being repaired")
    await page.get_by_role("dialog").get_by_role("button", name="Quarantine").click()
    await expect(results).to_contain_text("SHOP-7 is being repaired")

    async def is_known_to_the_gate() -> bool:
        await page.reload()
        return "Does not block the gate: quarantined" in await failure.inner_text()

    await eventually(is_known_to_the_gate)
    # what blocks comes first, so the quarantined one is now the last of the two
    await expect(page.get_by_text("Failure 2 of 2")).to_be_visible()
    await page.get_by_role("link", name="Previous").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Search")
    await expect(page.get_by_role("link", name="Previous")).to_have_count(0)
