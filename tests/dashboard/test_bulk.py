"""What is done with several tests at once."""

from typing import Any

from playwright.async_api import Page, expect

from tests.dashboard.conftest import Visitor
from tests.dashboard.pages import HOSTILE, defects_shown
from tests.e2e.client import Api, created
from tests.e2e.test_gate import Ci
from tests.e2e.world import World
from tests.eventually import eventually

# As a live update does it.
MORPH = "import(document.querySelector('link[href*=refresh]').href).then(({morph}) => morph(['execution']))"


async def stored(api: Api, test: Any) -> Any:
    return created(await api.get(f"/tests/{test['id']}"))


async def open_dialog(page: Page, name: str) -> Any:
    await page.get_by_role("group", name="Selected tests").get_by_role("button", name=name, exact=True).click()
    return page.get_by_role("dialog")


async def test_selected_tests_are_changed_and_those_that_cannot_be_are_named(
    member: Visitor, world: World, api: Api
) -> None:
    tests = [await world.test(name=name, tags=["old"]) for name in ("Basket", "Payment", "Search")]
    await member.open("/tests")
    page = member.page
    await expect(page.get_by_role("group", name="Selected tests")).to_be_hidden()
    await page.get_by_label("Select all tests on this page").check()
    await page.get_by_label("Select Search").uncheck()
    await expect(page.get_by_text("2 selected")).to_be_visible()
    assert (await api.delete(f"/tests/{tests[1]['id']}")).status == 204
    await world.test(name="Payment")  # another one, which is not selected
    dialog = await open_dialog(page, "Quarantine")
    await dialog.get_by_role("button", name="Quarantine").click()
    await expect(dialog.get_by_text("Say why")).to_be_visible()
    await dialog.get_by_label("Reason").fill("Waits for SHOP-1")
    await dialog.get_by_label("Until").fill("2020-01-01T00:00")
    await dialog.get_by_role("button", name="Quarantine").click()
    await expect(dialog.get_by_text('"Until" must be in the future.')).to_be_visible()
    await dialog.get_by_label("Until").fill("")
    await dialog.get_by_role("button", name="Quarantine").click()
    await expect(page.get_by_text("1 test is in quarantine")).to_be_visible()
    await expect(page.get_by_role("alert").filter(has_text="Payment: Test not found")).to_be_visible()
    assert (await stored(api, tests[0]))["quarantine"]["reason"] == "Waits for SHOP-1"
    assert (await stored(api, tests[2]))["quarantine"] is None
    for change, tags in (("add", ["old", "smoke"]), ("remove", ["old"])):
        await page.get_by_label("Select Basket").check()
        dialog = await open_dialog(page, "Tag")
        await dialog.get_by_label("What to do").select_option(change)
        await dialog.get_by_label("The tag").fill("smoke")
        await dialog.get_by_role("button", name="Change").click()
        await expect(page.get_by_role("dialog")).to_have_count(0)
        assert (await stored(api, tests[0]))["tags"] == tags


async def test_selected_tests_run_on_the_build_that_is_chosen(member: Visitor, world: World, api: Api) -> None:
    app, _ = await world.app(name="Shop"), await world.app(name="Empty")
    for version in ("1.0.0", "1.1.0"):
        await world.build(app, version)
    tests = [await world.test(name=name, app=app) for name in ("Basket", HOSTILE)]
    gone = await world.test(name="Gone")
    await member.open("/tests")
    page = member.page
    await page.get_by_label("Select all tests on this page").focus()
    await page.keyboard.press("Space")
    await expect(page.get_by_text("3 selected")).to_be_visible()
    await page.set_viewport_size({"width": 390, "height": 844})
    await page.get_by_text("Select all", exact=True).click()
    await expect(page.get_by_role("group", name="Selected tests")).to_be_hidden()
    await page.get_by_text("Select all", exact=True).click()
    await page.set_viewport_size({"width": 1280, "height": 800})
    assert (await api.delete(f"/tests/{gone['id']}")).status == 204
    assert await defects_shown(member) == {}
    dialog = await open_dialog(page, "Run")
    await dialog.get_by_role("button", name="Run").click()
    await expect(dialog.get_by_text("Choose the app on which they run.")).to_be_visible()
    await dialog.get_by_label("App").select_option(label="Empty")
    await dialog.get_by_role("button", name="Run").click()
    await expect(dialog.get_by_text("This app has no build yet, so nothing can run")).to_be_visible()
    await dialog.get_by_label("App").select_option(label="Shop")
    await dialog.get_by_label("Build").select_option("1.0.0")
    await dialog.get_by_role("button", name="Run").click()
    await expect(dialog.get_by_text("Deleted meanwhile: Gone. Clear them")).to_be_visible()
    await dialog.get_by_role("button", name="Cancel").click()
    await page.get_by_label("Select Gone").uncheck()
    dialog = await open_dialog(page, "Run")
    await dialog.get_by_role("button", name="Run").click()
    await page.wait_for_url(f"{member.url}/executions/*")
    runs = created(await api.get(f"/executions/{page.url.rpartition('/')[2]}/runs"))["items"]
    assert {(run["test_id"], run["resolved_build_version"]) for run in runs} == {(t["id"], "1.0.0") for t in tests}


async def test_selected_tests_of_the_matrix_are_quarantined_and_run_on_its_app(
    member: Visitor, world: World, api: Api
) -> None:
    """The arrow keys still move between its cells."""
    app, build, test, _ = await world.passing_app()
    for name in (HOSTILE, "Search"):
        await world.test(name=name, app=app)
    await member.open(f"/apps/{app['id']}/matrix")
    page = member.page
    await page.get_by_label("Select all tests of the matrix").check()
    await page.get_by_label("Select Search").uncheck()
    await expect(page.get_by_text("2 selected")).to_be_visible()
    assert await defects_shown(member) == {}
    dialog = await open_dialog(page, "Quarantine")
    await dialog.get_by_label("Reason").fill("Waits for SHOP-1")
    await dialog.get_by_role("button", name="Quarantine").click()
    await expect(page.get_by_text("2 tests are in quarantine")).to_be_visible()

    async def are_marked() -> bool:  # the matrix is a report, which learns of them a moment later
        await member.open(f"/apps/{app['id']}/matrix")
        return await page.locator("tbody .badge.quarantined").count() == 2

    await eventually(are_marked)
    await page.locator(".cell[tabindex='0']").focus()
    await page.keyboard.press("ArrowDown")
    await expect(page.locator("tbody tr:nth-child(2) .cell")).to_be_focused()
    await page.get_by_label(f"Select {test['name']}").check()
    dialog = await open_dialog(page, "Run")
    await dialog.get_by_label("Build").select_option(build["version"])
    await dialog.get_by_role("button", name="Run").click()
    await page.wait_for_url(f"{member.url}/executions/*")
    [run] = created(await api.get(f"/executions/{page.url.rpartition('/')[2]}/runs"))["items"]
    assert (run["test_id"], run["app_id"]) == (test["id"], app["id"])


async def test_selected_runs_of_an_execution_run_again_and_their_tests_are_quarantined(
    member: Visitor, ci: Ci, api: Api
) -> None:
    _, execution = await ci.run("1.0.0", "main", pay=False)
    runs = created(await api.get(f"/executions/{execution['id']}/runs"))["items"]
    failed = next(run for run in runs if run["success"] is False)
    await member.open(f"/executions/{execution['id']}")
    page = member.page
    await expect(page.get_by_role("group", name="Selected runs")).to_be_hidden()
    await page.get_by_label("Select all failed runs of this table").check()
    await expect(page.get_by_text("1 selected")).to_be_visible()
    assert await defects_shown(member) == {}
    await page.get_by_role("button", name="Quarantine the tests").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Reason").fill("Waits for SHOP-1")
    await dialog.get_by_role("button", name="Quarantine").click()
    await expect(page.get_by_text("1 test is in quarantine")).to_be_visible()
    assert (await stored(api, {"id": failed["test_id"]}))["quarantine"]["reason"] == "Waits for SHOP-1"
    box = page.get_by_label(f"Select {failed['test_name']}")
    await box.check()
    await page.evaluate(
        "import(document.querySelector('link[href*=refresh]').href).then(({morph}) => morph(['execution']))"
    )
    await expect(box).to_be_checked()
    await page.get_by_role("button", name="Run again (1)").click()
    await page.wait_for_url(lambda url: execution["id"] not in url)
    again = page.url.rpartition("/")[2]
    assert created(await api.get(f"/executions/{again}"))["rerun_of"] == execution["id"]
    [run] = created(await api.get(f"/executions/{again}/runs"))["items"]
    assert run["test_id"] == failed["test_id"]
