"""What is entered wrongly or too late: it is said beside the field, in the form's words, and what was typed stays."""

from typing import Any

from playwright.async_api import Page, Route, expect

from tests.dashboard.conftest import Visitor
from tests.dashboard.test_executions import on_build, run_path
from tests.dashboard.test_failures import failing  # noqa: F401 - a fixture
from tests.e2e.client import Api, created
from tests.e2e.test_human_in_the_loop import ASKING, TWO_BUTTONS, asked
from tests.e2e.world import World

LIMITS = "for (const each of document.querySelectorAll('[maxlength]')) each.removeAttribute('maxlength')"
URL_SENTENCE = '"Address of a ticket" must be an address that begins with http:// or https://.'
CHARACTERS = "has characters that are not possible here."
# Field, what is entered, and the sentence beside it.
WRONG = (
    ("note", "x" * 2001, '"Note" has at most 2000 characters: make it shorter.'),
    ("note", "a\u0000b", f'"Note" {CHARACTERS}'),
    ("ticket_url", "javascript:alert(1)", URL_SENTENCE),
    ("ticket_url", "data:text/html,x", URL_SENTENCE),
    ("ticket_url", "https://tickets.example/a b", URL_SENTENCE),
    ("owner", "o" * 101, '"Owner" has at most 100 characters: make it shorter.'),
    ("owner", "a\u0007b", f'"Owner" {CHARACTERS}'),
    ("state", "nonsense", 'Choose another value for "State".'),
    ("fixed_in", "9.9.9", "only failures with the state fixed have one"),
)


async def enter(page: Page, name: str, value: str) -> None:
    """Put a value into a field of the form, also one that the browser would not let people type."""
    script = "(field, value) => { field.add?.(new Option(value)); field.value = value; }"
    await page.locator(f'#edit-failure [name="{name}"]').evaluate(script, value)


async def test_what_is_wrong_about_a_failure_is_said_beside_its_field(
    member: Visitor,
    failing: Any,  # noqa: F811 (the fixture)
) -> None:
    path, page = f"/apps/{failing['app_id']}/failures/{failing['failure_fingerprint']}", member.page
    await member.open(path)
    await page.get_by_text("Write what is known").click()
    await page.evaluate(LIMITS)
    ids = {"ticket_url": "edit-ticket", "fixed_in": "edit-fixed"}
    for name, value, sentence in WRONG:
        await enter(page, name, value)
        await page.get_by_role("button", name="Save").click()
        field = page.locator(f'#edit-failure [name="{name}"]')
        await expect(page.locator(f"#{ids.get(name, f'edit-{name}')}-error")).to_contain_text(sentence)
        await expect(field).to_be_focused()
        await expect(field).to_have_value(value)
        await enter(page, name, "open" if name == "state" else "")
    await enter(page, "state", "fixed")
    await enter(page, "fixed_in", "9.9.9")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("No build has the version 9.9.9 yet")).to_be_visible()


async def test_what_two_people_write_about_a_failure_at_once_is_not_lost(
    member: Visitor,
    failing: Any,  # noqa: F811 (the fixture)
    api: Api,
) -> None:
    """Also if the other one saves between the last look at it and the change."""
    path, page = f"/apps/{failing['app_id']}/failures/{failing['failure_fingerprint']}", member.page
    await member.open(path)
    await page.get_by_text("Write what is known").click()
    await page.get_by_label("Owner").fill("Ada")
    created(await api.patch(path, {"owner": "Ben"}))
    save, error = page.get_by_role("button", name="Save"), page.locator("#edit-owner-error")
    await save.click()
    await expect(error).to_contain_text('Somebody has changed this to "Ben" meanwhile. Save again')
    await expect(page.get_by_label("Owner")).to_have_value("Ada")

    async def write_first(route: Route) -> None:
        answer = await route.fetch()
        created(await api.patch(path, {"owner": "Cem"}))
        await route.fulfill(response=answer)

    await page.route("**/triage", write_first, times=1)
    await save.click()
    await expect(error).to_contain_text('Somebody has changed this to "Cem" meanwhile. Save again')
    await expect(page.get_by_label("Owner")).to_have_value("Ada")
    await save.click()
    await expect(page.locator("#failure dl")).to_contain_text("Ada")


async def test_an_answer_that_cannot_be_given_stays_in_its_field(member: Visitor, world: World, api: Api) -> None:
    """It is too long, or the question was answered meanwhile on a page that does not know it."""
    execution, _ = await on_build(world, TWO_BUTTONS, "Tap Add", run_config=ASKING)
    run, page = await asked(api, execution), member.page
    held = list[Route]()  # what the page would learn of
    await page.route("**/events*", lambda route: held.append(route))
    await member.open(await run_path(world, execution))
    field, error = page.get_by_label("Or a step to perform instead"), page.locator("#answer-error")
    await page.evaluate(LIMITS)
    send = page.get_by_role("button", name="Answer", exact=True)
    for text, sentence in (("", "Fill in"), ("x" * 2001, "has at most 2000 characters"), ("a\u0007", CHARACTERS)):
        await field.evaluate("(field, value) => { field.value = value; }", text)
        await send.click()
        await expect(error).to_contain_text(sentence)
        await expect(field).to_have_value(text)
    await page.route(f"**/runs/{run['id']}", lambda route: held.append(route))
    answer = {"answer": run["question"]["options"][0]}
    assert (await api.post(f"/executions/{execution}/runs/{run['id']}/input", answer)).status == 202
    await field.fill("Tap the 2nd Add")
    await send.click()
    await expect(error).to_contain_text("The run has no open question")
    await expect(field).to_have_value("Tap the 2nd Add")
