"""Failures: found by message over all apps, as one page with what people know about them."""

from typing import Any

import pytest_asyncio
from playwright.async_api import expect

from tests.dashboard.conftest import Visitor
from tests.dashboard.pages import HOSTILE, defects
from tests.dashboard.test_csv import rows_of
from tests.e2e.client import created
from tests.e2e.test_gate import Ci
from tests.eventually import eventually


@pytest_asyncio.fixture(loop_scope="session")
async def failing(ci: Ci, member: Visitor) -> Any:
    """The reason of a gate: "Pay" fails on build 1."""
    _, execution = await ci.run("1", "main", pay=False)
    [reason] = (await ci.gate(execution))["reasons"]
    return reason


async def test_a_failure_is_found_by_its_message_and_written_about(member: Visitor, failing: Any) -> None:
    page = member.page
    await member.open("/failures?search=NOTHING+of+this+name")
    assert await defects(member, "/failures?search=NOTHING+of+this+name") == {}
    await page.get_by_role("link", name="Nothing of this name").click()
    path = f"/apps/{failing['app_id']}/failures/{failing['failure_fingerprint']}"
    await page.wait_for_url(f"**{path}")
    await expect(page.locator(".notice .message")).to_contain_text("Nothing of this name")
    await expect(page.get_by_role("link", name="run of Pay").first).to_have_attribute(
        "href", f"/executions/{failing['execution_id']}/runs/{failing['run_id']}"
    )
    await page.get_by_text("Write what is known").click()
    await page.get_by_label("State").select_option("known")
    await page.get_by_label("Note").fill(HOSTILE)
    await page.get_by_label("Address of a ticket").fill("javascript:alert(1)")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("must be an address that begins with")).to_be_visible()
    await page.get_by_label("Address of a ticket").fill("https://tickets.example/PAY-7")
    await page.get_by_role("button", name="Save").click()
    await expect(page.locator("#failure .badge.info")).to_have_text("known")
    await expect(page.get_by_role("link", name="https://tickets.example/PAY-7")).to_be_visible()
    assert await defects(member, path) == {}
    run = f"/executions/{failing['execution_id']}/runs/{failing['run_id']}"
    await member.open(run)
    notice = page.locator(".notice.failed")
    await expect(notice.get_by_role("link", name="All of this failure")).to_have_attribute("href", path)
    await expect(notice.locator(".badge.info")).to_have_text("known")
    await member.open(f"/apps/{failing['app_id']}/matrix")
    await expect(page.locator("section .badge.info")).to_have_text("known")
    (row,) = await rows_of(member, "/failures?state=known")
    assert (row["fingerprint"], row["triage.ticket_url"]) == (path.rpartition("/")[2], "https://tickets.example/PAY-7")
    for state, count in (("known", 1), ("fixed", 0)):
        await member.open(f"/failures?state={state}")
        await expect(page.locator("tbody tr")).to_have_count(count)


async def test_a_deleted_test_is_no_link(member: Visitor, failing: Any, ci: Ci) -> None:
    """Its name and its runs stay."""
    assert (await ci.world.api.delete(f"/tests/{ci.pay['id']}")).status == 204
    path = f"/apps/{failing['app_id']}/failures/{failing['failure_fingerprint']}"

    async def is_gone() -> bool:
        await member.open(path)
        return await member.page.get_by_role("row", name="Pay deleted").count() == 1

    await eventually(is_gone)
    await expect(member.page.locator(f'a[href="/tests/{ci.pay["id"]}"]')).to_have_count(0)
    await expect(member.page.locator(f'a[href$="/runs/{failing["run_id"]}"]').first).to_be_visible()


async def test_a_key_that_may_only_read_sees_no_form(member: Visitor, failing: Any, ci: Ci) -> None:
    made = created(await ci.world.api.post("/settings/api-keys", {"name": "Reader", "scopes": ["read"]}))
    member.key = made["key"]
    await member.sign_in()
    await member.open(f"/apps/{failing['app_id']}/failures/{failing['failure_fingerprint']}")
    await expect(member.page.get_by_role("heading", name="Tests (1)")).to_be_visible()
    await expect(member.page.locator("form[data-edits]")).to_have_count(0)
