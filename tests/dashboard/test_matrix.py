"""The matrix: what its cells say, its filters, its keys, and that it stays usable with 4,000 cells."""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from playwright.async_api import expect

from services.catalog.commands import bootstrap_organisation
from services.chassis.mongo import Mongo
from services.chassis.producer import Producer
from services.reporting.consumer import TOPICS
from tests.dashboard.conftest import Visitor
from tests.dashboard.pages import defects
from tests.e2e.client import Api, created
from tests.e2e.world import World
from tests.eventually import eventually
from tests.fakes.reporting_event_log import EventLog
from tests.shared_infrastructure import SharedStack

LONG_NAME = "Refuse a transfer to an account of another bank with two accounts"


@dataclass(frozen=True)
class History:
    """An app with runs that reporting was told of, and the key of its organisation."""

    key: str
    app: Any


async def tell(stack: SharedStack, *, tests: int, builds: int) -> History:
    """Tell reporting of an app with so many tests, which ran on so many builds; each tenth test fails on the newest."""
    mongo = await Mongo.connect(stack.mongo_uri, "catalog", "motor")
    try:
        key = await bootstrap_organisation(mongo, "Large")
    finally:
        await mongo.close()
    async with Api(stack.url, key.value) as api, Producer(stack.kafka_bootstrap, TOPICS, idempotence=False) as producer:
        app = await World(api).app()
        desk = EventLog(org_id=key.key.org_id, app_id=app["id"])
        ids = [str(uuid4()) for _ in range(tests)]
        events = [desk.attachment(each, f"Test {number:03}") for number, each in enumerate(ids)]
        for age in range(builds):
            build, execution = str(uuid4()), str(uuid4())
            events.append(desk.build(build, f"1.{builds - age}", age=age))
            for number, each in enumerate(ids):
                ending = "failed" if age == 0 and number % 10 == 0 else "passed"
                events.append(desk.life((build, f"1.{builds - age}"), each, ending, execution_id=execution)[-1])
        for piece in (events[at : at + 500] for at in range(0, len(events), 500)):
            for result in await producer.publish(piece):
                assert not isinstance(result, Exception), result

        async def folded() -> bool:
            answer = created(await api.get(f"/apps/{app['id']}/test_matrix", params={"page_size": 50}))
            return sum(len(test["cells"]) for test in answer["tests"]) == tests * builds

        await eventually(folded, within=120)
    return History(key.value, app)


@pytest_asyncio.fixture(loop_scope="session")
async def small(stack: SharedStack, visitor: Visitor) -> History:
    """Eleven tests on three builds, whose owner the visitor is."""
    history = await tell(stack, tests=11, builds=3)
    visitor.key = history.key
    await visitor.sign_in()
    return history


async def test_the_arrow_keys_move_between_cells_and_their_text_shows(visitor: Visitor, small: History) -> None:
    page = visitor.page
    await visitor.open(f"/apps/{small.app['id']}/matrix")
    rows = page.locator(".matrix tbody tr")
    await expect(rows).to_have_count(11)
    tip = page.locator(".cell-tip")
    first = rows.nth(0).locator(".cell").nth(0)
    await first.focus()
    await expect(tip).to_contain_text('1 failed: No "Buy"')
    for key, (row, column) in {
        "ArrowDown": (1, 0),
        "ArrowRight": (1, 1),
        "End": (1, 2),
        "Control+End": (10, 2),
    }.items():
        await page.keyboard.press(key)
        await expect(rows.nth(row).locator(".cell").nth(column)).to_be_focused()
    await expect(tip).to_have_text("1 passed")
    await page.keyboard.press("Escape")
    await expect(tip).to_be_hidden()
    await page.keyboard.press("Control+Home")
    await expect(first).to_be_focused()
    assert await page.locator(".matrix .cell[tabindex='0']").count() == 1


async def test_the_cell_with_the_focus_is_not_covered(visitor: Visitor, stack: SharedStack) -> None:
    """By the names, which stay at their place while the cells are scrolled."""
    history = await tell(stack, tests=2, builds=20)
    visitor.key = history.key
    await visitor.sign_in()
    page = visitor.page
    await page.set_viewport_size({"width": 360, "height": 740})
    await visitor.open(f"/apps/{history.app['id']}/matrix?builds=20")
    await page.locator(".matrix .cell").first.focus()
    await page.keyboard.press("End")
    for _ in range(19):
        await page.keyboard.press("ArrowLeft")
        assert await page.evaluate(IS_UNCOVERED)


IS_UNCOVERED = """() => {
    const { x, y, width, height } = document.activeElement.getBoundingClientRect();
    return document.elementFromPoint(x + width / 2, y + height / 2) === document.activeElement;
}"""


async def test_tests_are_searched_and_sorted_by_the_address(visitor: Visitor, small: History) -> None:
    page = visitor.page
    await visitor.open(f"/apps/{small.app['id']}/matrix?search=test%20003")
    await expect(page.locator(".matrix tbody tr")).to_have_count(1)
    await page.get_by_label("Test", exact=True).fill("010")
    await page.get_by_role("button", name="Show").click()
    await expect(page.locator(".matrix tbody th")).to_contain_text(["Test 010"])
    assert "search=010" in page.url
    await visitor.open(f"/apps/{small.app['id']}/matrix?search=nothing")
    await expect(page.get_by_role("heading", name="No test matches")).to_be_visible()
    await page.get_by_role("link", name="Show all tests").click()
    await expect(page.locator(".matrix tbody tr")).to_have_count(11)


@pytest.mark.parametrize("width", [1280, 1920])
async def test_names_take_the_width_that_is_free(visitor: Visitor, small: History, width: int) -> None:
    page = visitor.page
    async with Api(visitor.url, small.key) as api:
        test = await World(api).test(name=LONG_NAME)
        await World(api).attach(small.app, test)
    await page.set_viewport_size({"width": width, "height": 800})
    await visitor.open(f"/apps/{small.app['id']}/matrix")
    name = page.get_by_role("link", name=LONG_NAME)
    await expect(name).to_be_visible()
    assert await name.evaluate("link => link.scrollWidth <= link.clientWidth")


async def test_failures_are_grouped_by_their_reason(visitor: Visitor, small: History) -> None:
    await visitor.open(f"/apps/{small.app['id']}/matrix")
    group = visitor.page.get_by_role("region", name="Failures on these builds").get_by_role("row").nth(1)
    await expect(group).to_contain_text("Test 000 and 1 more")


async def test_an_app_without_builds_says_what_to_do(member: Visitor, world: World) -> None:
    app = await world.app()
    await member.open(f"/apps/{app['id']}/matrix")
    await expect(member.page.get_by_role("heading", name="No builds yet")).to_be_visible()
    await member.open(f"/apps/{app['id']}/coverage")
    await expect(member.page.get_by_role("heading", name="No tests yet")).to_be_visible()


async def test_the_matrix_is_accessible(visitor: Visitor, small: History) -> None:
    assert await defects(visitor, f"/apps/{small.app['id']}/matrix?builds=20") == {}


async def test_four_thousand_cells_stay_usable(visitor: Visitor, stack: SharedStack) -> None:
    """Not wider than a phone, under 200 KiB, and the keys reach the last cell."""
    history = await tell(stack, tests=200, builds=20)
    visitor.key = history.key
    await visitor.sign_in()
    response = await visitor.page.goto(f"{visitor.url}/apps/{history.app['id']}/matrix?builds=20")
    assert response is not None
    size = int((await response.all_headers())["content-length"])
    assert size < 200 * 1024
    cells = visitor.page.locator(".matrix .cell")
    await expect(cells).to_have_count(4_000)
    await cells.first.focus()
    await visitor.page.keyboard.press("Control+End")
    await expect(cells.last).to_be_focused()
    await expect(cells.last).to_be_in_viewport()
    await visitor.page.set_viewport_size({"width": 360, "height": 740})
    assert await visitor.page.evaluate("document.documentElement.scrollWidth") <= 360
