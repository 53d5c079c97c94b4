"""Executions: live, with their screens, their files, and what people do with them."""

from typing import Any

from playwright.async_api import expect

from tests.dashboard.conftest import Visitor
from tests.e2e.client import Api, created
from tests.e2e.test_human_in_the_loop import ASKING, TWO_BUTTONS
from tests.e2e.world import World, paced_app_model

ONE_SCREEN = b"""app_model: 1
app: {id: com.example.shop}
start: home
screens:
  home:
    elements:
      - {type: text, text: Basket}
      - {type: button, text: Pay, enabled: false}
"""
STEPS = ["launchApp", {"takeScreenshot": "home"}, 'Verify that "Pay" is enabled']


async def on_build(world: World, content: bytes, *steps: Any, **start: Any) -> tuple[str, Any]:
    """The id of a started execution of one test on a build with this content, and the test."""
    app, test = await world.app(), await world.test(list(steps))
    created(await world.api.upload(app["id"], content, version="1.0.0"))
    await world.attach(app, test)
    started = await world.start(await world.workflow(test), **start)
    return str(started["id"]), test


async def test_a_running_execution_is_followed_without_loading_the_page_again(visitor: Visitor, world: World) -> None:
    await visitor.sign_in()
    execution, test = await on_build(world, paced_app_model(seconds=1.0), "launchApp", *["waitForAnimationToEnd"] * 3)
    page = visitor.page
    await visitor.page.goto(f"{visitor.url}/executions/{execution}", wait_until="load")
    await page.evaluate("window.sameDocument = true")
    await expect(page.get_by_role("progressbar")).to_be_visible()
    link = page.get_by_role("link", name=test["name"])
    await link.focus()
    await expect(page.locator("h1 + p").get_by_text("passed")).to_be_visible(timeout=30_000)
    await expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    await expect(link).to_be_focused()
    assert await page.evaluate("window.sameDocument") is True


async def test_a_running_execution_is_cancelled(visitor: Visitor, world: World) -> None:
    await visitor.sign_in()
    execution, _ = await on_build(world, paced_app_model(seconds=2.0), "launchApp", *["waitForAnimationToEnd"] * 20)
    page = visitor.page
    page.on("dialog", lambda dialog: dialog.accept())
    await page.goto(f"{visitor.url}/executions/{execution}", wait_until="load")
    await page.get_by_role("button", name="Cancel").click()
    await expect(page.locator("h1 + p").get_by_text("cancelled").first).to_be_visible(timeout=30_000)


async def test_the_element_of_a_failed_step_is_marked_and_its_screen_enlarged(visitor: Visitor, world: World) -> None:
    await visitor.sign_in()
    execution, test = await on_build(world, ONE_SCREEN, *STEPS, run_config={"execution_mode": {"retries": 0}})
    await world.ended(execution)
    page = visitor.page
    await visitor.open(f"/executions/{execution}")
    await page.get_by_role("rowheader").get_by_role("link", name=test["name"]).click()
    viewer = page.locator(".viewer")
    await expect(viewer.locator("figcaption")).to_have_text('Step 3: Verify that "Pay" is enabled')
    marked = viewer.locator("rect")
    assert float(await marked.get_attribute("width") or 0) > 0
    await viewer.locator("a[data-zoom]").click()
    await expect(page.get_by_role("dialog", name="Screen")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog", name="Screen")).to_be_hidden()
    films = viewer.locator(".filmstrip a")
    await expect(films).to_have_count(2)
    await films.nth(1).focus()
    await page.keyboard.press("ArrowLeft")
    await expect(films.nth(0)).to_be_focused()
    await expect(films.nth(0)).to_have_attribute("aria-current", "true")
    await expect(viewer.locator("figcaption")).to_contain_text("Step 2")
    assert await marked.get_attribute("width") == "0"
    await page.locator(".steps").get_by_role("link", name="is enabled").click()
    await expect(viewer.locator("figcaption")).to_contain_text("Step 3")


async def test_files_are_read_on_the_page(visitor: Visitor, world: World) -> None:
    await visitor.sign_in()
    execution, test = await on_build(world, ONE_SCREEN, *STEPS, run_config={"execution_mode": {"retries": 0}})
    await world.ended(execution)
    page = visitor.page
    await visitor.open(f"/executions/{execution}")
    await page.get_by_role("rowheader").get_by_role("link", name=test["name"]).click()
    tree = page.locator("details.file").filter(has_text="UI tree")
    await tree.locator("summary").click()
    await expect(tree.locator("pre")).to_contain_text("Basket")


async def test_what_did_not_pass_is_run_again(visitor: Visitor, world: World) -> None:
    await visitor.sign_in()
    execution, _ = await on_build(world, ONE_SCREEN, *STEPS, run_config={"execution_mode": {"retries": 0}})
    await world.ended(execution)
    page = visitor.page
    await visitor.open(f"/executions/{execution}")
    await page.get_by_role("button", name="Run again what did not pass").click()
    await expect(page.get_by_role("link", name="an earlier execution")).to_be_visible()
    assert execution not in page.url


async def test_a_question_is_answered(visitor: Visitor, world: World, api: Api) -> None:
    """The page shows it when it comes, and that the run has gone on."""
    await visitor.sign_in()
    execution, _ = await on_build(world, TWO_BUTTONS, "Tap Add", 'I see "Count 2"', run_config=ASKING)
    run = created(await api.get(f"/executions/{execution}/runs"))["items"][0]
    page = visitor.page
    await page.goto(f"{visitor.url}/executions/{execution}/runs/{run['id']}", wait_until="load")
    await expect(page.get_by_role("heading", name="The run waits for an answer")).to_be_visible(timeout=30_000)
    await expect(page.get_by_role("img", name="Screen at the question")).to_be_visible()
    await page.get_by_role("button", name="tap the 2nd").click()
    await expect(page.locator("h1 + p").get_by_text("passed")).to_be_visible(timeout=30_000)
    await expect(page.get_by_role("heading", name="The run waits for an answer")).to_have_count(0)


async def test_a_cell_leads_to_the_run_on_its_app(visitor: Visitor, world: World) -> None:
    """Also when the same execution ran the test on another app."""
    apps = [await world.app(platform) for platform in ("Android", "iOS")]
    builds = [await world.build(app, "1.0") for app in apps]
    test = await world.test()
    for app in apps:
        await world.attach(app, test)
    config = {
        name: {"app_id": app["id"], "pinned_version": "1.0"}
        for name, app in zip(("android_build", "ios_build"), apps, strict=True)
    }
    await world.run(await world.workflow(test), build_config=config, override_build_config=True)
    await visitor.sign_in()
    for app, build, device in zip(apps, builds, ("simulated-android", "simulated-ios"), strict=True):
        await world.reported(build, 1)
        await visitor.open(f"/apps/{app['id']}/matrix")
        await visitor.page.locator(".cell.passed").click()
        await expect(visitor.page.locator("main")).to_contain_text(device)
