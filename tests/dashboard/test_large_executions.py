"""An execution whose runs need more than one page."""

import asyncio
from typing import Any

from playwright.async_api import expect

from tests.dashboard.conftest import Visitor
from tests.dashboard.pages import defects_shown
from tests.e2e.client import created, fresh
from tests.e2e.world import World
from tests.fakes.workspaces import zip_files

# More than the 100 runs of a page.
RUNS = 104
UNREADABLE = b"app_model: 1\nstart: home\nscreens:\n  home: [\n"
CAUSE = "the build's app model cannot be used: line 4, column 9 (model): the [ that begins here is not closed by ]"


async def quarantine(world: World, tests: list[Any]) -> None:
    """Put the tests into quarantine, a few at a time."""

    async def work() -> None:
        while tests:
            path = f"/tests/{tests.pop()['test_id']}/quarantine"
            created(await world.api.put(path, {"reason": "Waits for SHOP-1"}))

    await asyncio.gather(*(work() for _ in range(4)))


async def test_the_blocking_run_is_marked_on_whatever_page_it_is(member: Visitor, world: World) -> None:
    """All runs end without a verdict for one cause, which is one line; all tests but the last are in quarantine."""
    app, tag, page = await world.app(), fresh("all"), member.page
    created(await world.api.upload(app["id"], UNREADABLE, version="1.0.0"))
    flows = {
        f"{number:03}.yaml": f"name: Test {number:03}\ntags: [{tag}]\n---\n- launchApp\n" for number in range(RUNS)
    }
    sent = {"data": zip_files(flows), "headers": {"Content-Type": "application/zip"}}
    tests = created(await world.api.post("/tests/import", params={"app_id": app["id"]}, **sent))["created"]
    await quarantine(world, tests[:-1])
    execution = await world.run(await world.workflow(tags=[tag]))
    await member.open(f"/executions/{execution['id']}")
    group, mark = page.locator(".run-group"), page.locator(".badge.failed", has_text="blocks")
    marked = page.locator("tbody tr").filter(has=mark)
    for blocking_here in (0, 1):
        await expect(group).to_have_count(1)
        await expect(group.get_by_role("heading")).to_contain_text(f"{RUNS} runs, artifact invalid")
        await expect(group.get_by_role("heading")).to_contain_text("1 blocks the gate")
        await expect(page.get_by_text(CAUSE)).to_have_count(1)
        await expect(marked).to_have_count(blocking_here)
        assert await defects_shown(member) == {}
        if not blocking_here:
            await page.get_by_role("link", name="Next").click()
    await expect(marked).to_contain_text(f"Test {RUNS - 1}")
