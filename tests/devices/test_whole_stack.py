"""Everything through REST, on a browser: one test by sentences, by commands and by a goal, and one that fails."""

import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from junitparser import JUnitXml
from PIL import Image

from deploy.devices.__main__ import pools
from deploy.devices.hubs import Hub
from deploy.local.stack import run_stack
from tests.devices.test_attempts import BUY_IN_COMMANDS, BUY_IN_SENTENCES, LOG_IN
from tests.documents import blocks_of, check_blocks
from tests.e2e.client import Api, created
from tests.e2e.world import World
from tests.fakes.llm import FakeEndpoint
from tests.fakes.shopper import shopper

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.xdist_group("whole stack"),
]

GOAL = "Buy a red mug as ada@example.com with the password lovelace"
PLANNING = {"execution_mode": {"enable_planning": True}}


class Shop:
    """A stack whose workers have Chromium and a model; the shop is an app without a file."""

    def __init__(self, world: World, page: str, model: FakeEndpoint) -> None:
        self.world = world
        self.api = world.api
        self.page = page
        self.model = model

    async def run(self, *tests: list[Any], **config: Any) -> list[Any]:
        """Run these as one workflow on a build of their own; each run with its steps, in their order."""
        app = await self.world.app()
        created(await self.api.patch(f"/apps/{app['id']}", {"static_url": self.page}))
        await self.world.build(app, "1.0.0")
        made = [await self.world.test(steps) for steps in tests]
        for test in made:
            await self.world.attach(app, test)
        execution = await self.world.run(await self.world.workflow(*made), **config)
        path = f"/executions/{execution['id']}/runs"
        runs = created(await self.api.get(path))["items"]
        return [created(await self.api.get(f"{path}/{run['id']}")) for run in runs]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shop(chromedriver: Hub, web_shop: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shop]:
    tmp_path = tmp_path_factory.mktemp("stack")
    (tmp_path / "pools.yaml").write_text(pools(chromedriver))
    async with FakeEndpoint(mind=shopper).serving() as model:
        environment = {
            "MOBILETEST_DEVICE_POOLS": str(tmp_path / "pools.yaml"),
            "MOBILETEST_LLM_BASE_URL": model.url,
            "MOBILETEST_LLM_PRIMARY_MODEL": "shopper",
            "MOBILETEST_STEP_TIMEOUT_SECONDS": "5",
        }
        async with run_stack(tmp_path / "state", extra_env=environment) as stack, Api(stack.url, stack.api_key) as api:
            yield Shop(World(api), web_shop, model)


def steps_of(run: Any) -> list[Any]:
    steps: list[Any] = run["attempts"][-1]["steps"]
    return steps


async def picture(shop: Shop, run: Any, step: Any) -> Image.Image:
    """The screenshot of a step, as the API gives it."""
    artifacts = {artifact["name"]: artifact for artifact in run["attempts"][-1]["artifacts"]}
    return Image.open(io.BytesIO(await shop.api.download(artifacts[step["screenshot"]]["url"])))


async def test_a_test_passes_in_sentences_in_commands_and_by_a_goal(shop: Shop) -> None:
    goal = [GOAL, 'Take a screenshot named "thanks"']
    runs = await shop.run(BUY_IN_SENTENCES, BUY_IN_COMMANDS, goal, run_config=PLANNING)
    assert [(run["status"], run["success"], run["failure"]) for run in runs] == [("completed", True, None)] * 3
    assert {attempt["device"][:8] for run in runs for attempt in run["attempts"]} == {"chromium"}
    assert not any(run["metadata"]["simulated"] for run in runs)
    assert {step["resolution"] for step in steps_of(runs[0])} <= {"rule", "cache"}  # what the goal did is remembered
    assert {step["resolution"] for step in steps_of(runs[1])} == {"command"}
    assert steps_of(runs[2])[0]["resolution"] == "model"
    assert sum(step["model_calls"] for step in steps_of(runs[2])) > 0
    for run in runs:
        assert (await picture(shop, run, steps_of(run)[-1])).width >= 400


async def test_the_second_run_of_a_goal_asks_no_model(shop: Shop) -> None:
    """The memory is an app's, so that both runs are of one app."""
    app = await shop.world.app()
    created(await shop.api.patch(f"/apps/{app['id']}", {"static_url": shop.page}))
    await shop.world.build(app, "1.0.0")
    test = await shop.world.test([GOAL])
    await shop.world.attach(app, test)
    workflow = await shop.world.workflow(test, run_config=PLANNING)
    assert (await shop.world.run(workflow))["success"] is True
    asked = len(shop.model.asked)
    assert (await shop.world.run(workflow))["success"] is True
    assert (asked > 0, len(shop.model.asked)) == (True, asked)


async def test_a_failure_comes_with_picture_tree_log_and_junit(shop: Shop) -> None:
    missing = f"Voucher {uuid4().hex[:6]}"
    (run,) = await shop.run([*LOG_IN, f'I see "{missing}"'], run_config={"execution_mode": {"retries": 0}})
    assert (run["status"], run["success"], run["failure"]["category"]) == ("completed", False, "assertion_failed")
    step = steps_of(run)[-1]
    assert missing in step["message"]
    assert (await picture(shop, run, step)).height > 400
    artifacts = {artifact["name"]: artifact for artifact in run["attempts"][-1]["artifacts"]}
    assert b"Red mug" in await shop.api.download(artifacts[step["tree"]]["url"])
    junit = JUnitXml.fromstring((await shop.api.get(f"/executions/{run['execution_id']}/junit.xml")).text.encode())
    assert (junit.tests, junit.failures) == (1, 1)


async def test_the_blocks_of_the_documentation_print_what_it_shows(shop: Shop, tmp_path: Path) -> None:
    """docs/webdriver.md, after the first block of the tour. Not its server on a fixed port: the shop is served here."""
    prelude, _ = blocks_of("docs/tour.md", "# A tour")[0]
    [_, (block, expected)] = blocks_of("docs/webdriver.md", "## Try it on a browser")
    calls = "\n".join(line for line in block.splitlines() if "http.server" not in line)
    calls = calls.replace("http://127.0.0.1:8090/", shop.page.removesuffix("index.html"))
    assert expected is not None
    assert shop.api.key is not None
    await check_blocks(
        [(prelude, None), (calls, expected)], ready={"url": shop.api.url, "api_key": shop.api.key}, folder=tmp_path
    )
