"""What people write about a run, at the end of its page."""

from typing import Any

from playwright.async_api import Dialog, expect

from tests.dashboard.conftest import Visitor
from tests.dashboard.pages import HOSTILE, defects_shown
from tests.e2e.client import Api, created
from tests.e2e.test_gate import Ci

# Whether the list that is shown has the ETag of the list as it is.
IS_CURRENT = """async () => {
  const {comments, tag} = document.getElementById("comments").dataset;
  return (await fetch(comments)).headers.get("ETag").replace("-gzip", "") === tag;
}"""
TEXT = f"See https://tickets.example/1?a=b&c=<b>.\n{HOSTILE}"


async def commented_run(ci: Ci) -> tuple[Any, str]:
    """A failed run, and its path in REST."""
    _, execution = await ci.run("1.0.0", "main", pay=False)
    runs = created(await ci.world.api.get(f"/executions/{execution['id']}/runs"))["items"]
    run = next(each for each in runs if each["success"] is False)
    return run, f"/executions/{execution['id']}/runs/{run['id']}"


async def accept(dialog: Dialog) -> None:
    await dialog.accept()


async def test_people_comment_on_a_run(visitor: Visitor, ci: Ci, api: Api) -> None:
    run, path = await commented_run(ci)
    key = created(await api.post("/settings/api-keys", {"name": "Ben", "scopes": ["read", "write"]}))
    visitor.key = key["key"]
    await visitor.sign_in()
    await visitor.open(path)
    page = visitor.page
    box, write = page.get_by_label("Write a comment"), page.get_by_role("button", name="Comment", exact=True)
    await write.click()
    await expect(page.locator("#comment-text-error")).to_be_visible()
    await box.fill(TEXT)
    await write.click()
    comment = page.locator(".comments > li")
    await expect(comment).to_have_count(1)
    await expect(box).to_have_value("")
    await expect(comment.get_by_role("link", name="https:")).to_have_attribute(
        "href", "https://tickets.example/1?a=b&c="
    )
    assert await comment.locator("[data-text]").text_content() == TEXT
    await expect(page.get_by_role("link", name="1 comment")).to_be_visible()

    await box.fill("What I am typing")
    other = created(await api.post(f"{path}/comments", {"text": "From somebody else"}))
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # somebody comes back to the tab
    await expect(page.get_by_text("From somebody else")).to_be_visible()
    await expect(box).to_have_value("What I am typing")
    await expect(page.locator(f"#comment-{other['id']}").get_by_role("button")).to_have_count(0)
    assert await page.evaluate(IS_CURRENT)  # so that nothing is read but the list until it changes
    assert await defects_shown(visitor) == {}

    await comment.first.get_by_role("button", name="Edit").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_label("Text")).to_have_value(TEXT)
    await dialog.get_by_label("Text").fill("Found: SHOP-1")
    await dialog.get_by_role("button", name="Save").click()
    await expect(comment.first).to_contain_text("changed")
    await expect(comment.first).to_contain_text("Found: SHOP-1")
    await page.goto(f"{visitor.url}/executions/{run['execution_id']}")
    await page.get_by_role("link", name="2 comments").click()
    page.once("dialog", accept)
    await comment.first.get_by_role("button", name="Delete").click()
    await expect(comment).to_have_count(1)
    await expect(page.get_by_role("link", name="1 comment")).to_be_visible()


async def test_a_key_that_may_only_read_sees_comments_and_no_form(visitor: Visitor, ci: Ci, api: Api) -> None:
    """Pages of many comments: the last one first."""
    _, path = await commented_run(ci)
    for number in range(51):
        created(await api.post(f"{path}/comments", {"text": f"Comment {number}"}))
    visitor.key = created(await api.post("/settings/api-keys", {"name": "few", "scopes": ["read"]}))["key"]
    await visitor.sign_in()
    await visitor.open(path)
    page = visitor.page
    await expect(page.get_by_text("Comment 50")).to_be_visible()
    await expect(page.get_by_text("To write one, sign in with a key that has the scope write.")).to_be_visible()
    await expect(page.get_by_label("Write a comment")).to_have_count(0)
    await page.get_by_role("link", name="Earlier").click()
    await expect(page.get_by_text("Comment 0", exact=True)).to_be_visible()
    await expect(page.locator(".comments > li")).to_have_count(50)
