"""The page of the queue: what waits and why, and the workers with their devices, kept current by itself."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest_asyncio
from playwright.async_api import Locator, expect

from mobiletest_automation.model.devices import Platform
from services.chassis.mongo import Mongo
from services.executor.model.workers import PoolReport, WorkerReport
from services.executor.storage.workers import MongoWorkers
from tests.dashboard.conftest import Visitor
from tests.dashboard.pages import HOSTILE, defects_shown
from tests.e2e.client import created, fresh
from tests.e2e.test_queue import busy_world, cancel_all, start_several
from tests.e2e.world import World
from tests.eventually import eventually
from tests.shared_infrastructure import SharedStack

FAILED = "rgb(179, 32, 47)"


@pytest_asyncio.fixture(loop_scope="session")
async def busy(visitor: Visitor, stack: SharedStack) -> AsyncIterator[World]:
    """The visitor's organisation, which may have one run at a time, and has it."""
    async with busy_world(stack) as world:
        visitor.key = str(world.api.key)
        await visitor.sign_in()
        yield world


def waiting(visitor: Visitor) -> Locator:
    """The rows of the waiting runs."""
    return visitor.page.get_by_role("region", name="Waiting runs").locator("tbody tr")


async def test_what_waits_says_why_in_the_order_of_starts(visitor: Visitor, busy: World) -> None:
    """The page changes without being loaded again, and the focus stays where it was."""
    await start_several(busy, 2)
    await visitor.open("/queue")
    page, rows = visitor.page, waiting(visitor)
    await page.evaluate("window.sameDocument = true")
    await expect(rows).to_have_count(2)
    await expect(rows.first).to_contain_text("(concurrent_runs) is 1")
    link = rows.last.get_by_role("link")
    await link.focus()
    urgent = await start_several(busy, 1, priority=9)
    await expect(rows).to_have_count(3)
    await expect(rows.first.locator(f'a[href^="/executions/{urgent}/runs/"]')).to_be_visible()
    assert await rows.locator("td:nth-child(4)").all_text_contents() == ["0", "1", "2"]
    await expect(rows.last.get_by_role("link")).to_be_focused()
    assert await page.evaluate("window.sameDocument") is True
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/executions/*/runs/*")
    await cancel_all(busy.api)
    await visitor.open("/queue")
    await expect(page.get_by_role("heading", name="Nothing waits")).to_be_visible()


async def test_runs_that_a_workflow_holds_back_are_counted(visitor: Visitor, busy: World) -> None:
    await start_several(busy, 3, max_parallel=1)
    await visitor.open("/queue")
    await expect(waiting(visitor)).to_have_count(1)
    await expect(visitor.page.get_by_text("2 held back by their workflows")).to_be_visible()


async def test_devices_say_whether_they_are_free_and_that_they_are_simulated(visitor: Visitor, busy: World) -> None:
    await visitor.open("/queue")
    worker = visitor.page.get_by_role("article").filter(has_text="working").first
    await expect(worker.get_by_text("simulated", exact=True).first).to_be_visible()
    await expect(worker.get_by_role("listitem").filter(has_text="busy").first).to_be_visible()
    await expect(worker.get_by_role("listitem").filter(has_text="simulated-ios-1")).to_be_visible()


async def test_a_lost_worker_and_a_hub_that_does_not_answer_stand_out(
    visitor: Visitor, busy: World, stack: SharedStack
) -> None:
    """A worker with devices of the visitor's organisation; its name is hostile."""
    key = created(await busy.api.get("/settings/api-keys/current"))
    phones = PoolReport(name="phones", platform=Platform.IOS, slots=2, labels=("iPhone 17",), shared="a hub")
    pools = (replace(phones, organisation=key["org_id"], healthy=False),)
    mongo = await Mongo.connect(stack.mongo_uri, "executor")
    working = WorkerReport(id=fresh("w"), name=fresh("hub"), slots=2, pools=pools, has_models=False)
    await MongoWorkers(mongo, seconds=60).report(working)
    await MongoWorkers(mongo, seconds=0).report(WorkerReport(id=fresh("w"), name=fresh(HOSTILE), slots=2, pools=pools))
    await mongo.close()
    await visitor.open("/queue")
    workers = visitor.page.get_by_role("article")
    lost, hub = workers.filter(has_text="<script>"), workers.filter(has_text="hub ")
    await expect(lost).to_contain_text("its runs go to other workers")
    await expect(hub).to_contain_text("shared by workers")
    await expect(hub.get_by_role("listitem").filter(has_text="unavailable")).to_have_count(2)
    await expect(visitor.page.get_by_text("0 stopping, 1 lost")).to_be_visible()
    platforms = visitor.page.get_by_role("region", name="By platform").get_by_role("row")
    await expect(platforms.filter(has_text="iOS").get_by_text("1 lost")).to_have_css("color", FAILED)
    await expect(lost.get_by_role("listitem").filter(has_text="unavailable").first).to_have_css("color", FAILED)
    await expect(lost).to_contain_text("not available")
    await expect(lost).not_to_contain_text("slots in use")
    assert await defects_shown(visitor) == {}


async def test_it_is_updated_only_while_the_tab_is_visible(visitor: Visitor, busy: World) -> None:
    page, asked = visitor.page, list[str]()
    await page.clock.install()
    await visitor.open("/queue")
    page.on("request", lambda request: None if "/static/" in request.url else asked.append(request.url))
    await page.evaluate("Object.defineProperty(document, 'visibilityState', {value: 'hidden', configurable: true})")
    await page.clock.run_for(30_000)
    assert asked == []
    await page.evaluate("delete document.visibilityState; document.dispatchEvent(new Event('visibilitychange'))")
    await eventually(lambda: set(asked) == {f"{visitor.url}/queue", f"{visitor.url}/api/v1/questions?page_size=1"})


async def test_it_says_when_it_is_not_current(visitor: Visitor, busy: World) -> None:
    """What was shown stays, until the server answers again."""
    await start_several(busy, 1)
    await visitor.open("/queue")
    page = visitor.page
    note = page.get_by_text("This page is not current")
    await expect(note).to_be_hidden()
    await page.route("**/queue", lambda route: route.fulfill(status=503, body="no"))
    await expect(note).to_be_visible()
    await expect(waiting(visitor)).to_have_count(1)
    await page.unroute("**/queue")
    await expect(note).to_be_hidden()
    visitor.problems.clear()  # the refusals that this test made


async def test_the_queue_is_accessible(visitor: Visitor, busy: World) -> None:
    app, test = await busy.app(), await busy.test(name=HOSTILE)
    await busy.build(app, "1.0.0")
    await busy.attach(app, test)
    await busy.start(await busy.workflow(test))
    await visitor.open("/queue")
    await expect(waiting(visitor).get_by_text("<script>")).to_be_visible()
    assert await defects_shown(visitor) == {}
