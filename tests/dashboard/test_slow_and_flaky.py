"""The lists of flaky and of slow tests."""

from typing import Any

from playwright.async_api import expect

from tests.dashboard.conftest import Visitor
from tests.dashboard.pages import HOSTILE, defects_shown
from tests.e2e.client import created
from tests.e2e.world import World

# Passes or fails as the run wants it, on the same code and in the same variant.
STEPS = ["launchApp", {"assertTrue": "${PASSES == 'yes'}"}]
WANTED = {"PASSES": {"value": "yes", "variant": False}}


async def flaky_test(world: World, app: Any) -> Any:
    """A test whose second run on a build failed."""
    test = await world.test(STEPS, name=HOSTILE)
    await world.attach(app, test)
    workflow = await world.workflow(test, env=WANTED)
    for passes in ("yes", "no", "yes"):
        await world.run(workflow, run_config={"env": {"PASSES": passes}, "execution_mode": {"retries": 0}})
    return test


async def test_flaky_and_slow_tests_are_listed_with_what_they_cost(member: Visitor, world: World) -> None:
    app = await world.app()
    build = await world.build(app, "1.0.0")
    test = await flaky_test(world, app)
    await world.reported(build, 3)
    page = member.page
    await member.open("/tests")
    await page.get_by_role("link", name="Flaky tests").click()
    row = page.get_by_role("region", name="Flaky tests").get_by_role("row").nth(1)
    await expect(row).to_contain_text("Passed and failed on the same code in 1 of 1 build")
    await expect(row.get_by_role("img", name="1 of the newest 3 attempts failed")).to_be_visible()
    assert await defects_shown(member) == {}
    listed = created(await world.api.get("/flaky_tests"))["items"]
    assert [(each["test_id"], each["flakes"], each["wasted_seconds"] > 0) for each in listed] == [(test["id"], 1, True)]
    await member.open(f"/apps/{app['id']}/durations")
    row = page.get_by_role("region", name="Durations").get_by_role("row").nth(1)
    await expect(row.get_by_role("link")).to_have_attribute("href", f"/tests/{test['id']}/history")
    await expect(row).to_contain_text("about the same")
    assert await defects_shown(member) == {}
