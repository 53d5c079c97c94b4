"""Executions: live, with their screens, their files, and what people do with them."""

import asyncio
import re
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Request, Route, expect

from tests.dashboard.conftest import Visitor
from tests.dashboard.pages import HOSTILE, defects, defects_shown
from tests.dashboard.proxy import Proxy
from tests.e2e import test_healing
from tests.e2e.client import Api, created
from tests.e2e.test_human_in_the_loop import ASKING, TWO_BUTTONS
from tests.e2e.world import FAILING, World, paced_app_model
from tests.eventually import eventually
from tests.fakes.workspaces import zip_files

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


async def test_a_running_execution_is_followed_without_loading_the_page_again(member: Visitor, world: World) -> None:
    execution, test = await on_build(world, paced_app_model(seconds=1.0), "launchApp", *["waitForAnimationToEnd"] * 3)
    page = member.page
    await member.open(f"/executions/{execution}")
    await page.evaluate("window.sameDocument = true")
    await expect(page.get_by_role("progressbar")).to_be_visible()
    link = page.get_by_role("link", name=test["name"])
    await link.focus()
    await expect(page.locator("h1 + p").get_by_text("passed")).to_be_visible()
    await expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    await expect(link).to_be_focused()
    assert await page.evaluate("window.sameDocument") is True


async def test_the_steps_of_a_run_appear_while_it_goes_on(member: Visitor, world: World) -> None:
    execution, test = await on_build(world, paced_app_model(seconds=1.5), "launchApp", *["waitForAnimationToEnd"] * 5)
    page = member.page
    await member.open(f"/executions/{execution}")
    await page.get_by_role("link", name=test["name"]).click()
    await page.evaluate("window.sameDocument = true")
    link = page.get_by_role("link", name="version 1", exact=True)
    await link.focus()
    steps = page.locator("#run[data-live] .steps > li")
    await expect(page.locator("#run[data-live] .steps > .passed")).not_to_have_count(0)
    await expect(steps.last).to_have_class(re.compile("running"))
    await expect(page.locator("#run[data-live]").get_by_text("simulated", exact=True)).to_be_visible()
    await expect(steps).to_have_count(4)
    assert await defects_shown(member) == {}
    await expect(page.locator("#run:not([data-live]) .steps > .passed")).to_have_count(6)
    await expect(link).to_be_focused()
    assert await page.evaluate("window.sameDocument") is True


async def test_every_page_says_that_a_run_asks_and_leads_to_it(member: Visitor, world: World, api: Api) -> None:
    page = member.page
    await member.open("/tests")
    banner = page.get_by_role("banner")
    asks, announced = banner.get_by_role("link", name="1 question waiting"), banner.get_by_role("status")
    execution, _ = await on_build(world, TWO_BUTTONS, "Tap Add", run_config=ASKING)
    await expect(asks).to_be_visible()
    await expect(announced).to_have_text("1 question waiting")
    assert await defects_shown(member) == {}
    await page.set_viewport_size({"width": 360, "height": 740})
    await expect(asks).to_be_visible()
    await asks.press("Enter")
    await expect(page).to_have_url(re.compile(f"/executions/{execution}/runs/"))
    await expect(asks).to_be_visible()
    await expect(announced).to_be_empty()  # it is not new any more
    await page.get_by_role("button", name="skip").click()
    await expect(asks).to_be_hidden()


async def test_a_running_execution_is_cancelled(member: Visitor, world: World) -> None:
    execution, _ = await on_build(world, paced_app_model(seconds=2.0), "launchApp", *["waitForAnimationToEnd"] * 20)
    page = member.page
    page.on("dialog", lambda dialog: dialog.accept())
    await member.open(f"/executions/{execution}")
    await page.evaluate("window.sameDocument = true")
    await page.get_by_role("button", name="Cancel").click()
    await expect(page.get_by_role("status").filter(has_text="Cancelling the execution")).to_be_visible()
    await expect(page.get_by_role("status").filter(has_text="cancelled").first).to_be_visible()
    await expect(page.locator("#execution")).to_be_focused()
    assert await page.evaluate("window.sameDocument") is True


async def test_what_is_open_and_selected_stays_while_a_run_is_followed(member: Visitor, world: World) -> None:
    """A file of the first attempt, read while the second one is under way."""
    steps = ["launchApp", *["waitForAnimationToEnd"] * 5, 'Verify that "Nothing of this name" is visible']
    execution, test = await on_build(
        world, paced_app_model(seconds=1.0), *steps, run_config={"execution_mode": {"retries": 1}}
    )
    page = member.page
    await member.open(f"/executions/{execution}")
    await page.get_by_role("link", name=test["name"]).click()
    first = page.locator("details#attempt-1")
    await first.locator("> summary").click()
    await first.locator("details.file > summary").first.click()
    text = first.locator("details.file pre").first
    await expect(text).to_have_attribute("aria-busy", "false")
    await text.evaluate("pre => getSelection().selectAllChildren(pre)")
    read = await text.text_content()
    await expect(page.locator("#run[data-live]")).to_have_count(1)
    await expect(page.locator("#run[data-live]")).to_have_count(0, timeout=40_000)
    await expect(text).to_be_visible()
    assert await text.text_content() == read
    assert await page.evaluate("getSelection().toString()")


async def test_who_reads_a_run_under_way_is_not_disturbed(member: Visitor, world: World) -> None:
    """New steps do not scroll the list back, change what is chosen or pressed, nor are they read aloud one by one."""
    steps_to_run = ["launchApp", *['I see "Log in"'] * 17]
    execution, _ = await on_build(world, paced_app_model(seconds=0.8), *steps_to_run)
    page, listed = member.page, member.page.locator(".steps > li")
    await page.set_viewport_size({"width": 1280, "height": 400})
    await member.open(await run_path(world, execution))
    title = page.locator("#run[data-live] [data-title]")
    await expect(title).to_have_attribute("aria-live", "off")

    async def scrolled() -> int:
        return int(await page.locator(".steps").evaluate("list => list.scrollTop"))

    async def has_followed() -> bool:
        """So far that the newest step is out of view at the top of the list."""
        return await scrolled() > 2 * await listed.first.evaluate("step => step.offsetHeight")

    await eventually(has_followed)
    await page.locator(".steps").evaluate("list => { list.scrollTop = 0; }")
    await expect(listed.nth(await listed.count() + 1)).to_be_attached()
    assert await scrolled() == 0
    await listed.nth(1).click()
    await page.get_by_text("Elements of the screen").click()
    element = page.locator(".elements button").last
    await element.click()
    area = await page.locator("[data-screen=before] rect").get_attribute("height")
    await expect(page.locator("#run[data-live]")).to_have_count(1)
    await expect(page.locator("#run[data-live]")).to_have_count(0)
    await expect(element).to_be_focused()
    await expect(element).to_have_attribute("aria-pressed", "true")
    await expect(page.locator("[data-title]")).to_contain_text("Step 2")
    await expect(page.locator("[data-screen=before] rect")).to_have_attribute("height", area or "")


async def test_a_hidden_live_page_and_that_of_an_ended_run_ask_for_nothing(member: Visitor, world: World) -> None:
    execution, _ = await on_build(world, paced_app_model(seconds=0.5), "launchApp", *['I see "Log in"'] * 5)
    page, asked = member.page, list[str]()
    path = await run_path(world, execution)
    page.on("request", lambda request: asked.append(request.url) if execution in request.url else None)
    await page.clock.install()
    await member.open(path)
    await expect(page.locator("#run[data-live] .steps > .passed")).not_to_have_count(0)
    await page.evaluate("Object.defineProperty(document, 'visibilityState', {value: 'hidden', configurable: true})")
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    asked.clear()
    await world.ended(execution)
    await page.clock.run_for(60_000)
    assert asked == []
    await page.evaluate("delete document.visibilityState; document.dispatchEvent(new Event('visibilitychange'))")
    await expect(page.locator("#run:not([data-live]) .steps > .passed")).to_have_count(6)
    asked.clear()
    await page.clock.run_for(60_000)
    assert asked == []


async def run_path(world: World, execution: str) -> str:
    """The page of the only run of an execution."""
    (run,) = created(await world.api.get(f"/executions/{execution}/runs"))["items"]
    return f"/executions/{execution}/runs/{run['id']}"


async def test_a_live_page_sees_the_end_without_its_events(member: Visitor, world: World) -> None:
    """The stream never brings anything, so the page looks by itself."""
    execution, _ = await on_build(world, paced_app_model(seconds=0.3), "launchApp", "waitForAnimationToEnd")
    page, held = member.page, list[Route]()
    await page.route(re.compile(r"/events$"), lambda route: held.append(route))
    await page.clock.install()
    await member.open(f"/executions/{execution}")
    await world.ended(execution)
    await page.clock.run_for(30_000)
    await expect(page.locator("h1 + p").get_by_text("passed")).to_be_visible()
    assert held


async def test_a_live_page_says_when_it_is_not_current(member: Visitor, world: World, proxy: Proxy) -> None:
    """What was shown stays, and the page goes on by itself when the server answers again."""
    execution, _ = await on_build(world, paced_app_model(seconds=1.0), "launchApp", *["waitForAnimationToEnd"] * 3)
    page, note = member.page, member.page.get_by_text("This page is not current")
    await member.open(f"/executions/{execution}")
    proxy.cut()
    await expect(note).to_be_visible()
    await expect(page.get_by_role("progressbar")).to_be_visible()
    proxy.mend()
    await expect(note).to_be_hidden()
    await expect(page.get_by_role("status").filter(has_text="passed")).to_be_visible()
    member.problems = [problem for problem in member.problems if "net::ERR_" not in problem]


async def test_a_live_page_asks_again_for_what_could_not_be_loaded(member: Visitor, world: World) -> None:
    execution, _ = await on_build(world, paced_app_model(seconds=1.0), "launchApp", *["waitForAnimationToEnd"] * 2)
    asked: list[str] = []

    async def refuse_once(route: Route) -> None:
        asked.append(route.request.url)
        await (route.abort() if len(asked) == 1 else route.continue_())

    await member.page.route("**/htmx.esm.min.js*", refuse_once)
    await member.open(f"/executions/{execution}")
    await expect(member.page.get_by_role("status").filter(has_text="passed")).to_be_visible()
    assert len(asked) > 1
    member.problems = [problem for problem in member.problems if "net::ERR_" not in problem]


async def test_the_element_of_a_failed_step_is_marked_and_its_screen_enlarged(member: Visitor, world: World) -> None:
    execution, test = await on_build(world, ONE_SCREEN, *STEPS, run_config={"execution_mode": {"retries": 0}})
    await world.ended(execution)
    page = member.page
    await member.open(f"/executions/{execution}")
    await page.get_by_role("rowheader").get_by_role("link", name=test["name"]).click()
    title, after = page.locator("[data-title]"), page.locator("[data-screen=after]")
    await expect(title).to_have_text('Step 3: Verify that "Pay" is enabled')
    await expect(after).to_contain_text("At the failure")
    assert float(await after.locator("rect").get_attribute("width") or 0) > 0
    await after.locator("a[data-zoom]").click()
    await expect(page.get_by_role("dialog", name="Screen")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog", name="Screen")).to_be_hidden()
    films = page.locator(".filmstrip a")
    await films.last.focus()
    await page.keyboard.press("ArrowLeft")
    await expect(films.nth(-2)).to_be_focused()
    await expect(films.nth(-2)).to_have_attribute("aria-current", "true")
    await expect(title).to_contain_text("Step 2")
    assert await after.locator("rect").get_attribute("width") == "0"
    await page.locator(".steps").get_by_role("link", name="is enabled").click()
    await expect(title).to_contain_text("Step 3")
    await page.get_by_role("link", name="video", exact=True).click()
    await expect(page).to_have_url(re.compile(r"/video\.webp\?attempt=1$"))
    assert await page.get_by_role("img").evaluate("image => image.naturalWidth") == 360


async def test_the_report_of_a_run_opens_without_a_network(
    member: Visitor, browser: Browser, world: World, tmp_path: Path
) -> None:
    """With its pictures, without requests, and nothing serious by axe in both themes."""
    execution, _ = await on_build(world, ONE_SCREEN, *STEPS, run_config={"execution_mode": {"retries": 0}})
    run = await world.only_run(await world.ended(execution))
    await member.open(f"/executions/{execution}/runs/{run['id']}")
    async with member.page.expect_download() as downloading:
        await member.page.get_by_role("link", name="Report").click()
    file = tmp_path / "report.html"
    await (await downloading.value).save_as(file)
    context = await browser.new_context(offline=True, viewport={"width": 1280, "height": 800}, bypass_csp=True)
    reader, requests = Visitor(await context.new_page(), "", ""), list[str]()
    reader.page.on("request", lambda request: requests.append(request.url))
    await reader.page.goto(f"{file.as_uri()}#step-3")
    pictures = reader.page.get_by_role("img")
    assert await pictures.count() >= 2
    assert await pictures.evaluate_all("images => images.every((image) => image.naturalWidth > 0)")
    assert [url for url in requests if not url.startswith("data:")] == [file.as_uri()]
    await expect(reader.page.locator(":target")).to_contain_text('Verify that "Pay" is enabled')
    assert await defects_shown(reader) == {}
    await context.close()


async def test_steps_have_addresses_and_keys(member: Visitor, world: World) -> None:
    """The keys do nothing outside of the trace, with a modifier, and where somebody types."""
    execution, _ = await on_build(world, ONE_SCREEN, *STEPS, run_config={"execution_mode": {"retries": 0}})
    run = await world.only_run(await world.ended(execution))
    page, title = member.page, member.page.locator("[data-title]")
    await member.open(f"/executions/{execution}/runs/{run['id']}#step-2")
    await expect(title).to_contain_text("Step 2")
    await page.keyboard.press("j")
    await expect(title).to_contain_text("Step 3")
    await expect(page).to_have_url(re.compile("#step-3$"))
    await expect(page.locator("#step-3")).to_be_focused()
    for key in ("Shift+K", "Control+k", "Alt+k"):
        await page.keyboard.press(key)
    await page.get_by_role("link", name="Report").focus()
    await page.keyboard.press("k")
    await page.locator("#step-3").click()
    await page.keyboard.press("k")
    await expect(title).to_contain_text("Step 2")
    await page.keyboard.press("k")
    await expect(title).to_contain_text("Step 1")
    for _ in range(2):
        await page.keyboard.press("j")
    await page.get_by_text("Elements of the screen").click()
    search = page.get_by_role("searchbox", name="Search elements")
    await search.fill("butt")
    await search.press_sequentially("on")
    await search.press("k")
    await search.press("Backspace")
    elements = page.locator(".elements button")
    await expect(elements).to_have_count(1)
    await expect(elements).to_have_text('button "Pay" disabled')
    await expect(title).to_contain_text("Step 3")
    await elements.click()
    assert float(await page.locator("[data-screen=before] rect").get_attribute("width") or 0) > 0
    assert await defects_shown(member) == {}


async def test_a_step_stands_beside_the_same_step_of_the_last_pass(member: Visitor, world: World) -> None:
    """What differs is marked on both screens, and drawn pixel by pixel."""
    app, test = await world.app(), await world.test(STEPS)
    await world.attach(app, test)
    workflow, paths = await world.workflow(test), list[str]()
    for version, enabled in (("1.0.0", b"true"), ("2.0.0", b"false")):
        content = ONE_SCREEN.replace(b"enabled: false", b"enabled: " + enabled)
        created(await world.api.upload(app["id"], content, version=version))
        execution = await world.run(workflow, run_config={"execution_mode": {"retries": 0}})
        paths.append(f"/executions/{execution['id']}/runs/{(await world.only_run(execution))['id']}")
    page = member.page
    await member.open(f"{paths[1]}#step-3")
    section = page.locator("[data-step-pass]")
    await section.locator("summary").click()
    await expect(section.get_by_role("listitem")).to_have_text('button "Pay" is disabled')
    await expect(section.get_by_role("link")).to_have_attribute("href", f"{paths[0]}#step-3")
    await expect(section.locator("figure rect")).to_have_count(2)
    await expect(section.locator("figcaption")).to_have_text(["Then, simulated", "Now, simulated"])
    await expect(section.get_by_role("img", name="Pixels that differ")).to_be_visible()
    assert await defects_shown(member) == {}
    await page.keyboard.press("k")
    await page.keyboard.press("k")
    await expect(section).to_contain_text("The elements were not kept in both runs.")
    await member.open(paths[0])
    await section.locator("summary").click()
    await expect(section).to_contain_text("No earlier run of this test passed")


async def test_a_last_pass_of_another_variant_is_named(member: Visitor, world: World) -> None:
    app, test = await world.app(), await world.test([*STEPS[:1], 'I see "Pay"', {"evalScript": "${LOCALE}"}])
    created(await world.api.upload(app["id"], ONE_SCREEN, version="1.0.0"))
    await world.attach(app, test)
    workflow = await world.workflow(test)
    for locale in ("de", "en"):
        execution = await world.run(workflow, run_config={"env": {"LOCALE": locale}})
    await member.open(f"/executions/{execution['id']}/runs/{(await world.only_run(execution))['id']}#step-2")
    section = member.page.locator("[data-step-pass]")
    await section.locator("summary").click()
    await expect(section).to_contain_text(
        "in another variant (LOCALE=de), because no earlier run of this variant passed"
    )


async def test_a_replacement_is_verified_by_a_run_and_accepted(member: Visitor, world: World, api: Api) -> None:
    """By keys, in one page that follows the run; until somebody accepts it, nothing is changed."""
    app, test = await world.app(), await world.test(test_healing.STEPS)
    await world.attach(app, test)
    workflow, execution = await world.workflow(test), None
    for version, button in (("1.0", "Pay"), ("2.0", "Buy now")):
        created(await api.upload(app["id"], test_healing.app_model(button), version=version))
        execution = await world.run(workflow, run_config={"execution_mode": {"retries": 0}})
    path, page = f"/executions/{execution['id']}/runs/{(await world.only_run(execution))['id']}", member.page
    await member.open(path)
    offer = page.get_by_role("link", name="Find a replacement for the element")
    await offer.press("Enter")
    part = page.get_by_role("region", name="Replacement for the element of step 2")
    await expect(part.get_by_role("region", name="Difference")).to_contain_text("tapOn: Buy now")
    assert await defects_shown(member) == {}
    await page.evaluate("window.sameDocument = true")
    await part.get_by_role("button", name="Verify by a run").press("Enter")
    await expect(part.get_by_role("status")).to_contain_text("Verified:")
    assert await page.evaluate("window.sameDocument") is True
    assert await defects_shown(member) == {}
    assert created(await api.get(f"/tests/{test['id']}"))["version_number"] == 1
    await part.get_by_role("button", name="Accept").press("Enter")
    await expect(page).to_have_url(f"{member.url}/tests/{test['id']}/versions")
    await expect(page.get_by_text("The proposed step is accepted")).to_be_visible()
    changed = created(await api.get(f"/tests/{test['id']}"))
    assert changed["steps"] == ["launchApp", {"tapOn": "Buy now"}, test_healing.STEPS[2]]
    await member.open(path)
    await expect(page.locator("h1 + p").get_by_text("failed")).to_be_visible()
    await expect(offer).to_have_count(0)


async def test_lines_of_the_log_stand_beside_their_step(member: Visitor, world: World) -> None:
    """By their time; a line without one belongs to the line before it. Steps may begin in the same millisecond."""
    execution, _ = await on_build(world, ONE_SCREEN, *STEPS, run_config={"execution_mode": {"retries": 0}})
    run = await world.only_run(await world.ended(execution))
    page, steps = member.page, run["attempts"][0]["steps"]
    log = f"2026-01-01T00:00:00Z INFO first\n{steps[2]['started_at']} WARN third\n  more\n"
    await page.route(re.compile(r"artifacts/attempt-1-log.txt$"), lambda route: route.fulfill(body=log))
    await member.open(f"/executions/{execution}/runs/{run['id']}#step-3")
    await page.get_by_text("Log at this step").click()
    lines = page.locator("[data-step-log] pre")
    await expect(lines).to_have_text(f"{steps[2]['started_at']} WARN third\n  more")
    await page.keyboard.press("k")
    await expect(page.locator("[data-step-log]")).to_contain_text("No line was written")
    await page.unroute_all()
    await page.reload()
    await page.get_by_text("Log at this step").click()
    await expect(page.locator("[data-step-log]")).to_contain_text("no time of day")


async def test_a_failure_of_an_imported_flow_says_where_it_is_written(member: Visitor, world: World) -> None:
    """On the page of the run with the steps that run its file, and in the group of its failure."""
    files = {"config.yaml": "flows: main.yaml", "main.yaml": "- launchApp\n- runFlow: parts/pay.yaml\n"}
    files["parts/pay.yaml"] = "# Pays.\n- assertVisible: never there\n"
    app = await world.app()
    build = await world.build(app, "1.0.0")
    sent = {"data": zip_files(files), "headers": {"Content-Type": "application/zip"}}
    imported = created(await world.api.post("/tests/import", params={"app_id": app["id"]}, **sent))
    tests = [{"test_id": imported["created"][0]["test_id"]}]
    body = {"tests": tests, "run_config": {"execution_mode": {"retries": 0}}}
    execution = await world.ended((await world.api.post("/executions", json=body)).body["id"])
    run = await world.only_run(execution)
    page = member.page
    await member.open(f"/executions/{execution['id']}/runs/{run['id']}")
    await expect(page.get_by_role("note")).to_contain_text(re.compile(r"parts/pay.yaml:2:3,\s+run from main.yaml:2:3"))
    await expect(page.locator(".steps .failed .message").last).to_contain_text("parts/pay.yaml:2:3")
    await world.reported(build, 1)
    await member.open(f"/apps/{app['id']}/matrix")
    group = page.get_by_role("region", name="Failures on these builds").get_by_role("row").nth(1)
    await expect(group.get_by_role("rowheader")).to_contain_text("parts/pay.yaml:2:3")


async def test_a_filter_keeps_the_others(member: Visitor, world: World) -> None:
    app = await world.app()
    await member.open(f"/executions?app_id={app['id']}")
    page = member.page
    await page.get_by_label("Branch").fill("main")
    await page.get_by_role("button", name="Filter").click()
    await expect(page).to_have_url(re.compile(f"branch=main&.*app_id={app['id']}"))
    await expect(page.get_by_text("No execution matches")).to_be_visible()


async def test_hostile_names_are_only_texts(member: Visitor, world: World) -> None:
    """Of tests, branches and commits, and what a step was looking for."""
    app = await world.app()
    test = await world.test([*STEPS[:1], f'Verify that "{"W" * 150}" is visible'], name=HOSTILE)
    created(await world.api.upload(app["id"], ONE_SCREEN, version="1.0.0"))
    await world.attach(app, test)
    header = HOSTILE.encode("ascii", "ignore").decode()[:200]
    attribution = {"X-CI-Branch": header, "X-CI-Commit-SHA": header}
    once = {"execution_mode": {"retries": 0}}
    started = await world.start(await world.workflow(test), run_config=once, headers=attribution)
    ended = await world.ended(started["id"])
    run = created(await world.api.get(f"/executions/{ended['id']}/runs"))["items"][0]
    page = member.page
    home = f"/executions/{ended['id']}"
    for path in ("/executions", home, f"{home}/runs/{run['id']}", *(f"/apps/{app['id']}/{tab}" for tab in TABS)):
        assert await defects(member, path) == {}, path
        assert await page.locator("th:not([scope])").count() == 0
    await member.open(f"{home}/runs/{run['id']}")
    await expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)


TABS = ("matrix", "coverage")


async def test_what_did_not_pass_is_run_again(member: Visitor, world: World) -> None:
    execution, _ = await on_build(world, ONE_SCREEN, *STEPS, run_config={"execution_mode": {"retries": 0}})
    await world.ended(execution)
    page = member.page
    await member.open(f"/executions/{execution}")
    await page.get_by_role("button", name="Run again what did not pass").click()
    await expect(page.get_by_role("link", name="an earlier execution")).to_be_visible()
    assert execution not in page.url


async def test_this_test_is_run_again_as_it_was(member: Visitor, world: World, api: Api) -> None:
    """On the app and the build of the page, for its commit: not on the newest build, nor on other apps of the test."""
    app, test, other = await world.app(), await world.test(FAILING), await world.app("iOS")
    for each in (app, other):
        await world.build(each, "1.0.0")
        await world.attach(each, test)
    config = {"execution_mode": {"retries": 0}}
    headers = {"X-CI-Branch": "fix/menu", "X-CI-Commit-SHA": "0123abc"}
    body = {"android_build": {"app_id": app["id"]}}
    started = await world.start(await world.workflow(test), headers, run_config=config, build_config=body)
    run = await world.only_run(await world.ended(started["id"]))
    await world.build(app, "2.0.0")
    await member.open(f"/executions/{started['id']}/runs/{run['id']}")
    page = member.page
    await page.get_by_role("button", name="Run this test again").click()
    await expect(page.get_by_role("link", name="an earlier execution")).to_be_visible()
    again = await world.ended(page.url.rpartition("/")[2])
    repeated = await world.only_run(again)
    assert (repeated["app_id"], repeated["build_id"]) == (app["id"], run["build_id"])
    assert (again["ci"]["branch"], again["ci"]["commit_sha"]) == ("fix/menu", "0123abc")


async def test_more_clicks_while_the_next_page_is_loaded_start_nothing(member: Visitor, world: World) -> None:
    """The network holds the next page until there have been several clicks, each with a request that is seen."""
    execution, _ = await on_build(world, ONE_SCREEN, "launchApp")
    await world.ended(execution)
    page, seen, may_leave = member.page, list[str](), asyncio.Event()
    await member.open(f"/executions/{execution}")

    async def hold(route: Route) -> None:
        seen.append("next page")
        await may_leave.wait()
        await route.continue_()

    def note(request: Request) -> None:
        seen.append(request.url.rpartition("/")[2])
        if "next page" in seen and seen[seen.index("next page") :].count("session") == 3:
            may_leave.set()

    await page.route(re.compile(r"/executions/[\w-]+$"), hold)
    page.on("request", note)
    button = page.get_by_role("button", name="Run all again")
    await button.evaluate("button => { setInterval(() => { button.click(); fetch('/session'); }, 50); }")
    await expect(page.get_by_role("link", name="an earlier execution")).to_be_visible()
    assert seen.count("rerun") == 1


async def test_a_question_is_answered(member: Visitor, world: World, api: Api) -> None:
    execution, _ = await on_build(world, TWO_BUTTONS, "Tap Add", 'I see "Count 2"', run_config=ASKING)
    run = created(await api.get(f"/executions/{execution}/runs"))["items"][0]
    page = member.page
    await member.open(f"/executions/{execution}/runs/{run['id']}")
    await expect(page.get_by_role("heading", name="The run waits for an answer")).to_be_visible()
    await expect(page.get_by_role("img", name="Screen at the question")).to_be_visible()
    await page.get_by_role("button", name="tap the 2nd").click()
    await expect(page.locator("h1 + p").get_by_text("passed")).to_be_visible()
    await expect(page.get_by_role("heading", name="The run waits for an answer")).to_have_count(0)


async def test_a_cell_leads_to_the_run_on_its_app(member: Visitor, world: World) -> None:
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
    for app, build, device in zip(apps, builds, ("simulated-android", "simulated-ios"), strict=True):
        await world.reported(build, 1)
        await member.open(f"/apps/{app['id']}/matrix")
        await member.page.locator(".cell.passed").click()
        await expect(member.page.locator("main")).to_contain_text(device)


async def test_runs_that_failed_for_one_reason_are_one_group_before_the_others(member: Visitor, world: World) -> None:
    """The page also names what repeats the execution."""
    app, page = await world.app(), member.page
    created(await world.api.upload(app["id"], ONE_SCREEN, version="1.0.0"))
    passing = await world.test(["launchApp"])
    failing = [await world.test(["launchApp", 'Verify that "Pay" is enabled']) for _ in range(6)]
    for test in (passing, *failing):
        await world.attach(app, test)
    config = {"execution_mode": {"retries": 0}}
    execution = await world.run(await world.workflow(passing, *failing), run_config=config)
    await member.open(f"/executions/{execution['id']}")
    groups = page.locator(".run-group")
    await expect(groups).to_have_count(2)
    await expect(groups.first.get_by_role("heading")).to_contain_text("6 runs, assertion failed")
    await expect(groups.first).to_contain_text('"Pay"')
    await expect(groups.first.get_by_role("row").filter(visible=True)).to_have_count(6)
    await groups.first.get_by_text("1 more of this reason").click()
    await expect(groups.first.get_by_role("row").filter(visible=True)).to_have_count(8)
    await expect(groups.last.get_by_role("rowheader")).to_have_text(passing["name"])
    assert await defects_shown(member) == {}
    again = await world.api.post(f"/executions/{execution['id']}/rerun", {"failed_only": True})
    await world.ended(again.body["id"])
    await member.open(f"/executions/{execution['id']}")
    await page.get_by_role("link", name="an execution of").click()
    await page.get_by_role("link", name="an earlier execution").click()
    await expect(page).to_have_url(f"{member.url}/executions/{execution['id']}")


async def test_executions_are_found_by_the_commit_that_lists_show(member: Visitor, world: World) -> None:
    """Its first 9 characters, with white space and in capitals; "/" leads to the search; days and results filter."""
    sha = "4f2c1d9aa0b3e5f6"
    execution, _ = await on_build(world, ONE_SCREEN, "launchApp", headers={"X-CI-Commit-SHA": sha})
    await world.ended(execution)
    page = member.page
    await member.open("/executions")
    await page.keyboard.press("/")
    await expect(page.get_by_role("searchbox", name="Name")).to_be_focused()
    await page.keyboard.press("/")
    await expect(page.get_by_role("searchbox", name="Name")).to_have_value("/")
    await page.get_by_role("searchbox", name="Name").fill("")
    await page.get_by_label("Commit").fill(f" {sha[:9].upper()} ")
    await page.get_by_role("button", name="Filter").click()
    row = page.get_by_role("row").filter(has=page.locator(f"a[href='/executions/{execution}']"))
    await expect(row).to_contain_text("1.0.0")
    await expect(row).to_contain_text(sha[:9])
    assert await defects_shown(member) == {}
    await page.get_by_role("link", name="passed", exact=True).click()
    await expect(row).to_be_visible()
    await page.get_by_role("link", name="no verdict", exact=True).click()
    await expect(page.get_by_text("No execution matches")).to_be_visible()
    await expect(page).to_have_url(re.compile("commit_sha=.*result=no_verdict"))
    await page.get_by_text("More filters").click()
    await page.get_by_label("To (UTC)").fill("2020-01-01")
    await page.get_by_role("button", name="Filter").click()
    await expect(page.get_by_label("To (UTC)")).to_have_value("2020-01-01")
    assert await defects_shown(member) == {}


async def test_an_execution_links_to_those_that_it_superseded(member: Visitor, world: World, api: Api) -> None:
    """And they to it."""
    workflow = await world.slow_workflow(minutes=5)
    pull = {"X-CI-Repository": "shop", "X-CI-Branch": "fix", "X-CI-PR-Number": "7"}
    earlier = await world.start(workflow, pull)
    newer = await world.start(workflow, pull, cancel_previous=True)
    await world.ended(earlier["id"])
    facts = member.page.locator(".facts")
    await member.open(f"/executions/{newer['id']}")
    await facts.locator("dt", has_text="Supersedes").locator("+ dd").get_by_role("link").click()
    await expect(member.page).to_have_url(f"{member.url}/executions/{earlier['id']}")
    await facts.get_by_role("link", name="a newer execution").click()
    await expect(member.page).to_have_url(f"{member.url}/executions/{newer['id']}")
    await api.post(f"/executions/{newer['id']}/cancel")
