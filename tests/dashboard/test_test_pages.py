"""The pages of tests: list, steps with their editor, versions, history, quarantine, and trying a step."""

import re
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.async_api import Page, Route, expect

from tests.dashboard.conftest import Visitor
from tests.dashboard.pages import defects_shown
from tests.dashboard.test_csv import rows_of
from tests.e2e.client import Api, created
from tests.e2e.test_gate import Ci
from tests.e2e.world import World

SENTENCES = ["Launch the app", 'Type "Ada" into "Email"', 'Verify that "Nothing of this name" is visible']
HOSTILE = f"<script>alert(1)</script> \u202e {'W' * 170}"


async def executed(world: World, test: Any, runs: int = 1) -> Any:
    """The app on which the test has run so often; reporting knows it."""
    app = await world.app()
    build = await world.build(app, "1.0.0")
    await world.attach(app, test)
    for _ in range(runs):
        await world.ended(created(await world.api.post("/tests/execute", {"test_id": test["id"]}))["id"])
    await world.reported(build, runs)
    return app


async def edited(api: Api, test: Any, *last: str) -> None:
    """Give the test versions that differ in their last step."""
    for sentence in last:
        created(await api.patch(f"/tests/{test['id']}", {"steps": [*test["steps"][:-1], sentence]}))


async def steps_of(api: Api, test: Any) -> Any:
    return created(await api.get(f"/tests/{test['id']}"))["steps"]


async def save(page: Page) -> None:
    await page.get_by_role("button", name="Save", exact=True).click()


async def test_a_test_runs_on_the_app_and_build_that_the_page_shows(member: Visitor, world: World) -> None:
    """Also when another build is uploaded after the page was loaded."""
    test, apps = await world.test(), [await world.app(), await world.app(), await world.app("iOS")]
    for app in apps:
        await world.build(app, "1.0.0")
        await world.attach(app, test, "1.0.0" if app is apps[0] else None)
    await member.open(f"/tests/{test['id']}")
    page = member.page
    await page.get_by_role("link", name="Run", exact=True).click()
    await expect(page.get_by_role("region", name="Run version 1").get_by_role("row")).to_have_count(4)
    assert await defects_shown(member) == {}
    await world.build(apps[1], "2.0.0")
    await page.get_by_role("button", name=f"Run on {apps[1]['name']} 1.0.0").click()
    await expect(page.get_by_role("heading", name=test["name"], level=1)).to_be_visible()
    await page.wait_for_url(re.compile("/executions/"))
    run = await world.only_run(await world.ended(page.url.rpartition("/")[2]))
    assert (run["app_id"], run["resolved_build_version"]) == (apps[1]["id"], "1.0.0")


async def test_tests_are_filtered_and_the_address_says_how(member: Visitor, world: World) -> None:
    await world.test(name="Log in", tags=["smoke"], platform="Android")
    await world.test(name="Check out", platform="iOS")
    page = member.page
    await member.open("/tests")
    await expect(page.get_by_role("row")).to_have_count(3)
    await page.get_by_label("Name").fill("log")
    await page.get_by_label("Platform").select_option("Android")
    await page.get_by_role("button", name="Filter").click()
    await expect(page.get_by_role("row")).to_have_count(2)
    await member.open(page.url.removeprefix(member.url))
    await expect(page.get_by_label("Name")).to_have_value("log")
    await page.get_by_role("link", name="smoke").click()
    await expect(page.locator("#tag")).to_have_value("smoke")
    await page.get_by_role("link", name="Log in").click()
    await expect(page.get_by_role("heading", name="Log in", level=1)).to_be_visible()
    await member.open("/tests?tag=nightly")
    await expect(page.get_by_role("heading", name="No test matches")).to_be_visible()


async def test_tests_of_an_app_have_results_and_classifications(member: Visitor, world: World) -> None:
    test = await world.test(SENTENCES)
    app = await executed(world, test, runs=3)
    await member.open(f"/tests?app_id={app['id']}")
    row = member.page.get_by_role("row").filter(has_text=test["name"])
    await expect(row.get_by_role("link", name="failed")).to_be_visible()
    badge = row.get_by_text("broken", exact=True)
    await badge.hover()
    await expect(row.get_by_role("tooltip")).to_contain_text("times in a row since build 1.0.0")
    await member.open("/tests?classification=broken")
    await expect(member.page.get_by_role("link", name=test["name"])).to_be_visible()
    await member.open("/tests?classification=stable")
    await expect(member.page.get_by_role("heading", name="No test matches")).to_be_visible()


async def test_the_first_test_is_written_for_an_app(member: Visitor, world: World, api: Api) -> None:
    """What is wrong is said beside its field, and what was typed stays."""
    app = await world.app(name="Shop")
    page = member.page
    await member.open("/tests")
    await expect(page.get_by_role("heading", name="No tests yet")).to_be_visible()
    await page.get_by_role("link", name="New test").first.click()
    await page.get_by_label("App").select_option(app["id"])
    await page.get_by_label("Steps").fill('- Launch the app\n- Tap "Log in"\n')
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("alert").filter(has_text='Fill in "Name".')).to_be_visible()
    await expect(page.get_by_label("Steps")).to_have_value('- Launch the app\n- Tap "Log in"\n')
    await page.get_by_label("Name").fill("Log in <b>")
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("heading", name="Log in <b>")).to_be_visible()
    await expect(page.get_by_role("status").filter(has_text="The test is created")).to_be_visible()
    [test] = created(await api.get("/tests", params={"include_steps": "true"}))["items"]
    assert test["steps"] == ["Launch the app", 'Tap "Log in"']
    assert [attachment["app_id"] for attachment in test["attachments"]] == [app["id"]]


async def test_mistakes_are_shown_with_line_and_column_while_one_types(member: Visitor, world: World) -> None:
    test = await world.test(SENTENCES)
    page = member.page
    await member.open(f"/tests/{test['id']}")
    steps, problems = page.get_by_label("Steps"), page.get_by_role("region", name="Problems")
    await steps.fill("- Launch the app\n- tapOnn: Log in\n- tapOn: {idd: x}\n")
    await expect(problems.get_by_role("status")).to_have_text("2 problems, the first on line 2, column 3.")
    await expect(problems.get_by_role("listitem").first).to_contain_text('unknown command "tapOnn"')
    await expect(steps).to_have_attribute("aria-invalid", "true")
    await problems.get_by_role("button", name="Line 3, column 11").click()
    await expect(steps).to_be_focused()
    assert await steps.evaluate("area => area.selectionStart") == 44
    await steps.fill("- Launch the app\n")
    await expect(problems.get_by_role("status")).to_have_text("None found.")
    await expect(problems.get_by_role("listitem")).to_have_count(0)
    await steps.fill("- assertTrue: ${TOTAL} == 5\n")
    await expect(problems.get_by_role("listitem")).to_contain_text("Line 1, column 15")


async def test_a_sentence_that_no_rule_parses_is_a_warning_without_a_model(member: Visitor, world: World) -> None:
    test = await world.test(SENTENCES)
    page = member.page
    await member.open(f"/tests/{test['id']}")
    steps, problems = page.get_by_label("Steps"), page.get_by_role("region", name="Problems")
    await steps.fill('- Launch the app\n- Buy the cheapest blanket\n- Tap "Log in"\n')
    await expect(problems.get_by_role("status")).to_have_text("1 warning.")
    await expect(problems.get_by_role("listitem")).to_contain_text("warning Line 2, column 3")
    await expect(problems.get_by_role("listitem")).to_contain_text('"Buy the cheapest blanket": the rules do not')
    await expect(steps).to_have_attribute("aria-invalid", "false")
    assert await defects_shown(member) == {}
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("status").filter(has_text="Saved as version 2")).to_be_visible()
    for available in (True, None):
        limits = {"limits": [], "allowed_models": ["*"], "models_available": available}
        await page.route("**/api/v1/settings/limits", partial(_answer, limits))
        await steps.fill(f"- Launch the app\n- Buy the cheapest blanket {available}\n- tapOnn: x\n")
        await expect(problems.get_by_role("status")).to_have_text("1 problem, the first on line 3, column 3.")
        await steps.fill(f"- Launch the app\n- Buy the cheapest blanket {available}\n")
        await expect(problems.get_by_role("status")).to_have_text("None found.")
        await expect(problems.get_by_role("listitem")).to_have_count(0)
        await page.unroute("**/api/v1/settings/limits")


async def _answer(answer: Any, route: Route) -> None:
    await route.fulfill(json=answer)


async def test_a_text_without_steps_is_a_problem(member: Visitor, world: World) -> None:
    test = await world.test()
    await member.open(f"/tests/{test['id']}")
    problems = member.page.get_by_role("region", name="Problems").get_by_role("listitem")
    for text in ("", "nothing: here", "flows: '*'"):
        await member.page.get_by_label("Steps").fill("- Launch the app")
        await expect(problems).to_have_count(0)
        await member.page.get_by_label("Steps").fill(text)
        await expect(problems).to_have_count(1)


async def test_steps_are_saved_as_a_new_version(member: Visitor, world: World, api: Api) -> None:
    test = await world.test(SENTENCES)
    page = member.page
    await member.open(f"/tests/{test['id']}")
    text = await page.get_by_label("Steps").input_value()
    await save(page)
    await expect(page.get_by_text("The steps are still those of version 1")).to_be_visible()
    await page.get_by_label("Steps").fill(f"{text}- tapOn:\n    id: help\n")
    await expect(page.get_by_text("Not saved yet")).to_be_visible()
    await save(page)
    await expect(page.get_by_text("Saved as version 2")).to_be_visible()
    await expect(page.get_by_text("Not saved yet")).to_be_hidden()
    assert await steps_of(api, test) == [*SENTENCES, {"tapOn": {"id": "help"}}]
    await page.get_by_label("Steps").fill("- tapOnn: x\n")
    await save(page)
    await expect(page.get_by_role("alert").filter(has_text="line 1, column 3")).to_be_visible()
    await expect(page.get_by_label("Steps")).to_have_value("- tapOnn: x\n")
    await page.get_by_label("Steps").fill("- Go back\n")
    await save(page)
    await expect(page.get_by_text("Saved as version 3")).to_be_visible()


async def test_a_tab_that_saved_first_is_noticed(member: Visitor, world: World, api: Api) -> None:
    """What was typed stays, the difference is shown, and only then it may be saved."""
    test = await world.test(SENTENCES)
    page, other = member.page, await member.page.context.new_page()
    for tab in (page, other):
        await tab.goto(f"{member.url}/tests/{test['id']}")
    await other.get_by_label("Steps").fill("- Theirs\n")
    await save(other)
    await expect(other.get_by_text("Saved as version 2")).to_be_visible()
    await page.get_by_label("Steps").fill("- Mine\n")
    await save(page)
    conflict = page.get_by_role("region", name="Conflict")
    await expect(conflict).to_be_focused()
    await expect(conflict).to_contain_text("version 2")
    await expect(conflict.get_by_role("deletion")).to_contain_text("Theirs")
    await expect(conflict.get_by_role("insertion")).to_contain_text("Mine")
    await expect(page.get_by_label("Steps")).to_have_value("- Mine\n")
    assert await steps_of(api, test) == ["Theirs"]
    assert await member.violations() == []
    await page.set_viewport_size({"width": 360, "height": 740})
    assert await page.evaluate("document.documentElement.scrollWidth") <= 360
    await page.get_by_role("button", name="Save mine over it").click()
    await expect(page.get_by_text("Saved as version 3")).to_be_visible()
    await expect(conflict).to_be_hidden()
    assert await steps_of(api, test) == ["Mine"]


async def test_changes_of_different_documents_do_not_conflict(member: Visitor, world: World, api: Api) -> None:
    test = await world.test(SENTENCES)
    await member.open(f"/tests/{test['id']}")
    created(await api.patch(f"/tests/{test['id']}", {"description": "Signs in"}))
    await member.page.get_by_label("Steps").fill("- Mine\n")
    await save(member.page)
    await expect(member.page.get_by_text("Saved as version 2")).to_be_visible()
    after = created(await api.get(f"/tests/{test['id']}"))
    assert (after["description"], after["steps"]) == ("Signs in", ["Mine"])


async def test_a_key_that_may_only_read_sees_the_steps(visitor: Visitor, world: World, api: Api) -> None:
    test = await world.test(SENTENCES)
    reader = created(await api.post("/settings/api-keys", {"name": "reader", "scopes": ["read"]}))
    visitor.key = reader["key"]
    await visitor.sign_in()
    await visitor.open(f"/tests/{test['id']}")
    await expect(visitor.page.get_by_label("Steps")).not_to_be_editable()
    await expect(visitor.page.get_by_role("note")).to_contain_text("no scope to write")
    await expect(visitor.page.get_by_role("button", name="Save")).to_have_count(0)
    await visitor.open("/tests")
    await expect(visitor.page.get_by_role("link", name="New test")).to_have_count(0)


async def test_versions_are_compared_and_restored(member: Visitor, world: World, api: Api) -> None:
    test = await world.test(SENTENCES)
    await edited(api, test, "Second", "Third")
    page = member.page
    await member.open(f"/tests/{test['id']}/versions")
    await expect(page.get_by_role("heading", name="From version 2 to version 3")).to_be_visible()
    await page.get_by_label("From version 1").check()
    await page.get_by_label("To version 2").check()
    await page.get_by_role("button", name="Compare").click()
    await expect(page.get_by_role("heading", name="From version 1 to version 2")).to_be_visible()
    await member.open(page.url.removeprefix(member.url))
    await expect(page.get_by_role("deletion")).to_have_text(
        'Removed: - - Verify that "Nothing of this name" is visible'
    )
    await expect(page.get_by_role("insertion")).to_have_text("Added: + - Second")
    await page.get_by_role("button", name="Restore version 1").click()
    await expect(page.get_by_role("status").filter(has_text="Version 1 is restored")).to_be_visible()
    await expect(page.get_by_role("rowheader").first).to_contain_text("4 current")
    assert await steps_of(api, test) == SENTENCES


async def test_a_version_is_not_restored_over_a_change(member: Visitor, world: World, api: Api) -> None:
    test = await world.test(SENTENCES)
    await edited(api, test, "Second")
    await member.open(f"/tests/{test['id']}/versions")
    await edited(api, test, "Third")
    await member.page.get_by_role("button", name="Restore version 1").click()
    await expect(member.page.get_by_role("alert").filter(has_text="saved other steps meanwhile")).to_be_visible()
    assert (await steps_of(api, test))[-1] == "Third"


@pytest.mark.parametrize(("query", "message"), [("from=9&to=1", "Version 9"), ("from=x", "x is not the number")])
async def test_versions_that_do_not_exist_are_said(member: Visitor, world: World, query: str, message: str) -> None:
    test = await world.test()
    await member.open(f"/tests/{test['id']}/versions?{query}")
    await expect(member.page.get_by_role("main")).to_contain_text(message)


async def test_history_has_runs_marks_and_the_score(member: Visitor, world: World) -> None:
    test = await world.test(SENTENCES)
    app = await executed(world, test, runs=3)
    page = member.page
    await member.open(f"/tests/{test['id']}/history")
    card = page.locator(".card", has_text=app["name"])
    await expect(card).to_contain_text("broken")
    await expect(card).to_contain_text("Flakiness 0.000")
    await expect(page.locator(".strip").get_by_role("link", name="failed on build 1.0.0")).to_have_count(3)
    await expect(page.get_by_role("row").filter(has_text="Nothing of this name")).to_have_count(3)
    await page.locator(".strip a").first.click()
    await expect(page.get_by_role("heading", name=test["name"])).to_be_visible()
    assert "/runs/" in page.url


async def test_runs_of_a_test_and_of_a_build_are_filtered_by_result(member: Visitor, world: World) -> None:
    """A file has the runs that the page shows, and a result that nothing has says so."""
    test = await world.test(SENTENCES)
    app = await executed(world, test, runs=2)
    (build,) = created(await world.api.get(f"/apps/{app['id']}/builds"))["items"]
    page, runs, results = member.page, member.page.locator("#runs"), member.page.get_by_label("Result")
    for path in (f"/tests/{test['id']}/history", f"/apps/{app['id']}/builds/{build['id']}"):
        assert len(await rows_of(member, f"{path}?result=failed")) == 2
        await expect(results.get_by_role("link", name="failed")).to_have_attribute("aria-current", "true")
        await expect(runs.get_by_role("row").filter(has_text="Nothing of this name")).to_have_count(2)
        await results.get_by_role("link", name="passed").click()
        await expect(runs).to_contain_text("No run matches")
        await expect(page).to_have_url(f"{member.url}{path}?result=passed#runs")
        assert await defects_shown(member) == {}
        await runs.get_by_role("link", name="show all runs").click()
        await expect(runs.get_by_role("row").filter(has_text="Nothing of this name")).to_have_count(2)


async def test_a_test_without_runs_says_how_to_run_it(member: Visitor, world: World) -> None:
    test = await world.test()
    await member.open(f"/tests/{test['id']}/history")
    await expect(member.page.get_by_text("Attach the test to an app")).to_be_visible()
    await member.open(f"/tests/{test['id']}/try")
    await expect(member.page.get_by_role("heading", name="No screen to try a step on")).to_be_visible()


async def test_a_test_is_quarantined_and_released(member: Visitor, world: World, api: Api) -> None:
    test = await world.test()
    page = member.page
    await member.open(f"/tests/{test['id']}")
    await page.get_by_label("Steps").fill("- Not saved yet")
    await page.get_by_role("button", name="Quarantine").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Until").fill("2001-01-01T12:00")
    await dialog.get_by_label("Reason").fill("Waits for <b>SHOP-1</b>")
    await dialog.get_by_role("button", name="Quarantine").click()
    await expect(dialog.get_by_label("Until")).to_have_attribute("aria-invalid", "true")
    await dialog.get_by_label("Until").fill("")
    await dialog.get_by_label("Until").press("1")  # the day
    await dialog.get_by_role("button", name="Quarantine").click()
    await expect(dialog.get_by_role("alert").filter(has_text="Enter the whole date")).to_be_visible()
    await dialog.get_by_label("Until").fill("")
    await dialog.get_by_role("button", name="Quarantine").click()
    note = page.get_by_role("note").filter(has_text="Quarantined until")
    await expect(note).to_contain_text("Waits for <b>SHOP-1</b>")
    await expect(note).to_contain_text("set by bootstrap")
    assert created(await api.get(f"/tests/{test['id']}"))["quarantine"]["reason"] == "Waits for <b>SHOP-1</b>"
    page.on("dialog", lambda question: question.accept())
    await page.get_by_role("button", name="End it").click()
    await expect(note).to_have_count(0)
    assert created(await api.get(f"/tests/{test['id']}"))["quarantine"] is None
    await expect(page.get_by_label("Steps")).to_have_value("- Not saved yet")


async def test_the_end_of_a_quarantine_is_local_time(member: Visitor, world: World, api: Api) -> None:
    test = await world.test()
    until = (datetime.now(UTC) + timedelta(days=30)).replace(second=0, microsecond=0)
    body = {"reason": "Waits for SHOP-1", "until": until.isoformat()}
    before = created(await api.put(f"/tests/{test['id']}/quarantine", body))["quarantine"]
    page = member.page
    await member.open(f"/tests/{test['id']}")
    await page.get_by_role("button", name="Change the quarantine").click()
    dialog = page.get_by_role("dialog")
    local = until.astimezone(ZoneInfo("Europe/Rome"))
    await expect(dialog.get_by_label("Until")).to_have_value(local.strftime("%Y-%m-%dT%H:%M"))
    await dialog.get_by_label("Reason").fill("Waits for SHOP-2")
    await dialog.get_by_role("button", name="Quarantine").click()
    await expect(page.get_by_role("note").filter(has_text="Waits for SHOP-2")).to_be_visible()
    after = created(await api.get(f"/tests/{test['id']}"))["quarantine"]
    assert (after["until"], after["since"]) == (before["until"], before["since"])


async def test_a_test_is_deleted_by_its_name(member: Visitor, world: World, api: Api) -> None:
    test = await world.test(name="Log in <b>")
    page = member.page
    await member.open(f"/tests/{test['id']}")
    await page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_role("button", name="Delete")).to_be_disabled()
    await dialog.get_by_role("textbox").fill("Log in <b>")
    await dialog.get_by_role("button", name="Delete").click()
    await expect(page.get_by_role("heading", name="No tests yet")).to_be_visible()
    assert (await api.get(f"/tests/{test['id']}")).status == 404


async def test_a_sentence_is_tried_on_the_last_screen(member: Visitor, world: World) -> None:
    """The element is marked where it is on the screenshot, and what is unclear is explained."""
    test = await world.test(["Launch the app", *SENTENCES[2:]])
    await executed(world, test)
    page = member.page
    await member.open(f"/tests/{test['id']}/try")
    step, answer = page.get_by_label("Step", exact=True), page.get_by_role("region", name="What the rules would do")
    await step.fill('Tap "Log in"')
    await page.keyboard.press("Enter")
    await expect(answer.get_by_role("heading", name="tap")).to_be_visible()
    await expect(answer.get_by_role("listitem")).to_contain_text("Log in")
    await expect(page.locator(".screen rect")).to_have_count(1)
    frame, picture = await page.locator(".screen rect").bounding_box(), await page.locator(".screen").bounding_box()
    assert frame
    assert picture
    assert picture["x"] <= frame["x"]
    assert frame["x"] + frame["width"] <= picture["x"] + picture["width"]
    await step.fill('Tap "Nothing of this name"')
    await page.keyboard.press("Enter")
    await expect(answer.get_by_role("heading", name="Nothing: not found")).to_be_visible()
    await expect(page.locator(".screen rect")).to_have_count(0)
    await step.fill("tapOnn")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert").filter(has_text="unknown command")).to_be_visible()
    await step.fill('{"tapOn": {"text": "Log in"}}')
    await page.keyboard.press("Enter")
    await expect(answer.get_by_role("heading", name="tap")).to_be_visible()


async def test_pages_of_tests_are_accessible(member: Visitor, world: World, api: Api) -> None:
    test = await world.test(SENTENCES, name=HOSTILE, tags=[HOSTILE[:90]], description=HOSTILE)
    app = await executed(world, test)
    await edited(api, test, HOSTILE)
    created(await api.put(f"/tests/{test['id']}/quarantine", {"reason": HOSTILE}))
    page = member.page
    home = f"/tests/{test['id']}"
    for path in ("/tests", f"/tests?app_id={app['id']}", "/tests/new", home, *(f"{home}/{tab}" for tab in TABS)):
        await member.open(path)
        if path == home:
            await page.get_by_label("Steps").fill("- tapOnn: x\n")
            await expect(page.get_by_role("button", name="Line 1, column 3")).to_be_visible()
        if path.endswith("try"):
            await page.get_by_label("Step", exact=True).fill('Tap "Log in"')
            await page.get_by_role("button", name="Try").click()
            await expect(page.locator(".screen rect")).to_have_count(1)
        assert await defects_shown(member) == {}, path


TABS = ("versions", "history", "try")


async def test_the_step_under_the_cursor_is_checked_on_past_screens(member: Visitor, world: World) -> None:
    """Lines that were inserted move the steps."""
    test = await world.test([{"appId": "com.example.demo"}, "Launch the app", 'I see "Log in"', 'I see "Email"'])
    await executed(world, test)
    page = member.page
    await member.open(f"/tests/{test['id']}")
    answer = page.get_by_role("region", name="On past screens")

    async def move_to_end_of(line: int) -> None:
        for key in ("Control+Home", *["ArrowDown"] * (line - 1), "End"):
            await page.keyboard.press(key)

    await page.get_by_label("Steps").focus()
    await move_to_end_of(4)
    await expect(answer.get_by_role("status")).to_have_text("Holds on 1 of 1 screen where it passed.")
    await page.keyboard.insert_text(" in the list")
    await expect(answer.get_by_role("status")).to_have_text("Does not hold on 1 of 1 screen where it passed.")
    await expect(answer.get_by_role("link").first).to_have_attribute("href", re.compile("/executions/.+/runs/.+"))
    assert await defects_shown(member) == {}
    await move_to_end_of(2)
    await page.keyboard.insert_text('\n- I do not see "Nothing"')
    await expect(answer.get_by_role("status")).to_have_text("Holds on 2 of 2 screens.")
    await expect(answer).to_contain_text("It holds on every screen of other steps")
    await save(page)
    await expect(page.get_by_text("Saved as version 2")).to_be_visible()


async def test_quarantined_has_one_word_and_one_colour_on_every_page(member: Visitor, ci: Ci, world: World) -> None:
    """With the reason, on focus too."""
    await ci.run("1.0.0", "main")
    build, _ = await ci.run("1.1.0", "main", pay=False)
    created(await world.api.put(f"/tests/{ci.pay['id']}/quarantine", {"reason": "Waits for SHOP-1"}))
    await world.reported(build, 2)
    app, colours = f"/apps/{ci.app['id']}", set[str]()
    for page in ("/tests", app, f"{app}/matrix", f"{app}/coverage", f"{app}/builds/{build['id']}"):
        await member.open(page)
        tip = member.page.locator(".tip").filter(has=member.page.locator(".badge.quarantined")).first
        await expect(tip.locator(".badge")).to_have_text("quarantined")
        await tip.focus()
        await expect(tip.get_by_role("tooltip")).to_contain_text("Waits for SHOP-1")
        colours.add(await tip.locator(".badge").evaluate("badge => getComputedStyle(badge).color"))
        assert await member.page.get_by_text("in quarantine", exact=True).count() == 0
    assert len(colours) == 1
