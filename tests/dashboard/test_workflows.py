"""Workflows: made, changed, started on a build, and listed with how they ended."""

from functools import partial
from typing import Any

import pytest
from playwright.async_api import Page, Route, expect

from tests.dashboard.conftest import Visitor
from tests.dashboard.pages import HOSTILE, defects
from tests.e2e.client import Api, created
from tests.e2e.world import UNKNOWN, World


async def names(page: Page) -> list[str]:
    return await page.locator(".chosen bdi").all_inner_texts()


async def add_test(page: Page, name: str) -> None:
    await page.get_by_label("Add tests").fill(name)
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name=f"Add {name}", exact=True).click()


async def stored(api: Api, workflow: Any) -> Any:
    return created(await api.get(f"/workflows/{workflow['id']}"))


async def test_a_workflow_is_made_and_its_tests_are_ordered_by_keyboard(
    member: Visitor, world: World, api: Api
) -> None:
    app = await world.app(name="Shop")
    await world.build(app, "1.0.0")
    tests = [await world.test(name=name) for name in ("Basket", "Payment", "Search")]
    await member.open("/workflows")
    page = member.page
    await page.get_by_role("link", name="New workflow").first.click()
    await page.get_by_label("Name", exact=True).fill("Checkout smoke")
    for name in ("Basket", "Payment", "Search"):
        await add_test(page, name)
    await page.get_by_role("button", name="Up: Search").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Up: Search")).to_be_focused()
    assert await names(page) == ["Basket", "Search", "Payment"]
    await page.get_by_label("Position of Payment").fill("1")
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name="Remove: Basket").press("Enter")
    assert await names(page) == ["Payment", "Search"]
    await page.get_by_role("group", name="Android").get_by_label("App").select_option(label="Shop")
    await page.get_by_role("group", name="Android").get_by_label("Build").select_option("1.0.0")
    await page.get_by_label("Retries of a failed test").select_option("3")
    await page.get_by_label("Variables", exact=True).fill("SHOP=staging\nPASSWORD={secret: staging-password}")
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("heading", level=1, name="Checkout smoke")).to_be_visible()
    (workflow,) = created(await api.get("/workflows"))["items"]
    assert workflow["test_ids"] == [tests[1]["id"], tests[2]["id"]]
    assert workflow["build_config"]["android_build"] == {"app_id": app["id"], "pinned_version": "1.0.0"}
    assert workflow["run_config"]["execution_mode"]["retries"] == 3
    assert workflow["env"] == {"SHOP": "staging", "PASSWORD": {"secret": "staging-password"}}


async def test_only_what_was_changed_is_saved_and_nothing_is_overwritten(
    member: Visitor, world: World, api: Api
) -> None:
    fields = {"env": {"A": "1"}, "run_config": {"execution_mode": {"retries": 0}, "run_id": "kept"}, "tags": ["a, b"]}
    workflow = await world.workflow(await world.test(), **fields)
    path = f"/workflows/{workflow['id']}"
    await member.open(f"{path}/edit")
    page = member.page
    created(await api.patch(path, {"description": "by another", "max_parallel": 3}))
    await page.get_by_label("Name", exact=True).fill("Renamed")
    await page.get_by_label("Description").fill("mine")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("alert").filter(has_text="Somebody has changed the description")).to_be_visible()
    assert (await stored(api, workflow))["description"] == "by another"
    await page.get_by_role("button", name="Save").click()
    await page.wait_for_url(f"{member.url}{path}")
    now = await stored(api, workflow)
    assert (now["name"], now["description"], now["max_parallel"]) == ("Renamed", "mine", 3)
    assert {name: now[name] for name in ("env", "tags", "test_ids")} == {
        name: workflow[name] for name in ("env", "tags", "test_ids")
    }
    assert now["run_config"] == workflow["run_config"]


async def test_a_test_that_was_deleted_meanwhile_is_marked(member: Visitor, world: World, api: Api) -> None:
    kept, gone = await world.test(name="Kept"), await world.test(name="Gone")
    await member.open("/workflows/new")
    page = member.page
    await page.get_by_label("Name", exact=True).fill("Smoke")
    for name in ("Kept", "Gone"):
        await add_test(page, name)
    assert (await api.delete(f"/tests/{gone['id']}")).status == 204
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_text("Remove them, and save again")).to_be_visible()
    await expect(page.locator(".chosen li", has_text="Gone")).to_contain_text("deleted")
    await page.get_by_role("button", name="Remove: Gone").click()
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("heading", level=1, name="Smoke")).to_be_visible()
    assert created(await api.get("/workflows"))["items"][0]["test_ids"] == [kept["id"]]


async def test_a_workflow_runs_on_the_build_that_is_chosen(member: Visitor, world: World, api: Api) -> None:
    """Also a test that is pinned to another build; the page says so before. None runs on an app without a build."""
    app, _ = await world.app(name="Shop"), await world.app(name="Empty")
    for version in ("1.0.0", "1.1.0"):
        await world.build(app, version)
    test = await world.test()
    await world.attach(app, test, pinned_version="1.1.0")
    workflow = await world.workflow(test, await world.test(platform="iOS"))
    await member.open(f"/workflows/{workflow['id']}")
    page = member.page
    await expect(page.get_by_text("never run")).to_be_visible()
    await expect(page.get_by_text("2 tests will run. Each on the apps")).to_be_visible()
    await page.get_by_label("App", exact=True).select_option(label="Empty")
    await expect(page.get_by_text("Empty has no build yet")).to_be_visible()
    await page.get_by_role("button", name="Start").click()
    await expect(page.locator("#version-error")).to_contain_text("upload one on the page of the app")
    await page.get_by_label("App", exact=True).select_option(label="Shop")
    await expect(page.get_by_label("Build", exact=True)).to_have_value("1.1.0")
    gone = await world.build(app, "1.2.0")
    await page.get_by_label("App", exact=True).select_option(label="Empty")
    await page.get_by_label("App", exact=True).select_option(label="Shop")
    await page.get_by_label("Build", exact=True).select_option("1.2.0")
    assert (await api.delete(f"/apps/builds/{gone['id']}")).status == 204
    await page.get_by_role("button", name="Start").click()
    await expect(page.locator("#version-error")).to_contain_text("it was deleted or renamed")
    await page.get_by_label("Build", exact=True).select_option("1.0.0")
    await expect(page.get_by_text("1 test will run on Shop 1.0.0")).to_be_visible()
    await page.get_by_label("Variables").fill("USER ada")
    await page.get_by_role("button", name="Start").click()
    await expect(page.get_by_text("write NAME=value")).to_be_visible()
    await page.get_by_label("Variables").fill("USER=ada")
    await page.get_by_role("button", name="Start").click()
    await page.wait_for_url(f"{member.url}/executions/*")
    execution = await world.ended(page.url.rpartition("/")[2])
    run = await world.only_run(execution)
    assert (run["resolved_build_version"], run["test_id"]) == ("1.0.0", test["id"])
    assert execution["run_config"]["env"] == {"USER": "ada"}
    await member.open(f"/workflows/{workflow['id']}")
    await expect(page.get_by_role("table").last.get_by_text("passed", exact=True)).to_be_visible()
    await member.open(f"/workflows?search={workflow['name'].lower()}")
    await expect(page.get_by_role("row", name=workflow["name"]).get_by_text("passed")).to_be_visible()


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("tags", "x" * 150, '"Tests with a tag, too" has at most 100 characters: make it shorter.'),
        ("env", f"A={'x' * 9000}", '"Variables" has 9000 bytes; at most 8192 are allowed'),
        ("env", "A={secret: a b}", "Write the name of a secret as {secret: name}"),
        ("max_parallel", "1.5", '"Runs at a time" must be a whole number.'),
        ("llm_config.primary_model", "x" * 300, "has at most 200 characters: make it shorter."),
    ],
)
async def test_what_is_wrong_is_said_beside_its_field(
    member: Visitor, world: World, name: str, value: str, sentence: str
) -> None:
    """In the words of the form, also of one entry of a list and of a setting in a folder of settings."""
    workflow = await world.workflow(await world.test())
    await member.open(f"/workflows/{workflow['id']}/edit")
    form = member.page.locator("form[data-workflow-form]")
    await form.evaluate("form => { for (const each of form.querySelectorAll('details')) each.open = true; }")
    field = form.locator(f'[name="{name}"]')
    await field.evaluate("field => field.removeAttribute('maxlength')")
    await field.fill(value)
    await form.locator('button[type="submit"]').click()
    await expect(member.page.locator(f'[id="{name}-error"]')).to_contain_text(sentence)
    await expect(member.page.get_by_text("Tests have been deleted")).to_have_count(0)
    await expect(field).to_be_focused()


async def test_a_pin_to_a_build_that_does_not_exist_says_so(member: Visitor, world: World) -> None:
    """In the list, on the page and in the form, also where more builds exist than the form lists; and of tests."""
    app = await world.app(name="Shop")
    await world.build(app, "1.0.0")
    test = await world.test()
    await world.attach(app, test, pinned_version="9.9.8")
    other = await world.app(name="Courier")
    created(await world.api.patch(f"/apps/{other['id']}", {"current_version": "9.9.7"}))
    await world.attach(other, test)
    config = {"android_build": {"app_id": app["id"], "pinned_version": "9.9.9"}}
    workflow = await world.workflow(test, build_config=config)
    page = member.page
    for path in ("/workflows", f"/workflows/{workflow['id']}"):
        await member.open(path)
        await expect(page.get_by_text("No build has the version 9.9.9")).to_be_visible()
    for path in ("", "/versions", "/history", "/run", "/try"):
        await member.open(f"/tests/{test['id']}{path}")
        await expect(page.locator("#test-header").get_by_text("9.9.8 no such build")).to_be_visible()
        await expect(page.locator("#test-header").get_by_text("9.9.7 no such build")).to_be_visible()
    await page.route("**/builds?page_size=100", partial(_answer, {"items": [], "has_next": True}))
    await member.open(f"/workflows/{workflow['id']}/edit")
    await expect(page.get_by_role("combobox", name="Build")).to_have_value("9.9.9")
    await expect(page.get_by_role("option", name="9.9.9 (no such build)")).to_have_count(1)
    await world.build(app, "9.9.9")
    await member.open(f"/workflows/{workflow['id']}/edit")
    await expect(page.get_by_role("combobox", name="Build")).to_have_value("9.9.9")
    await expect(page.get_by_role("option", name="9.9.9 (no such build)")).to_have_count(0)
    await member.open(f"/workflows/{workflow['id']}")
    await expect(page.get_by_text("no such build")).to_have_count(0)


async def _answer(answer: Any, route: Route) -> None:
    await route.fulfill(json=answer)


async def test_a_workflow_is_deleted_by_its_name(member: Visitor, world: World, api: Api) -> None:
    workflow = await world.workflow(name="Old")
    await member.open(f"/workflows/{workflow['id']}")
    page = member.page
    await expect(page.get_by_text("there is nothing to start")).to_be_visible()
    await page.get_by_role("button", name="Delete").click()
    await page.get_by_role("dialog").get_by_label("to delete it").fill("Old")
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(page.get_by_text("No workflows yet")).to_be_visible()
    for path in (workflow["id"], f"{workflow['id']}/edit", UNKNOWN):
        answer = await page.goto(f"{member.url}/workflows/{path}")
        assert answer is not None
        assert answer.status == 404


async def test_the_pages_are_accessible_and_hostile_names_are_only_texts(member: Visitor, world: World) -> None:
    app = await world.app(name=HOSTILE)
    await world.build(app, HOSTILE)
    build = {"android_build": {"app_id": app["id"], "pinned_version": HOSTILE}}
    workflow = await world.workflow(
        await world.test(name=HOSTILE), name=HOSTILE, description=HOSTILE, build_config=build, env={"A": HOSTILE}
    )
    home = f"/workflows/{workflow['id']}"
    for path in ("/workflows", home, f"{home}/edit", "/workflows/new"):
        assert await defects(member, path) == {}, path
    await expect(member.page).to_have_title("New workflow - mobiletest")
