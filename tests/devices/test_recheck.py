"""What a recheck decides of steps in Chromium is what the browser did: the same verdict, and the same element."""

import pytest

from mobiletest_automation.screen.elements import walk
from tests.devices.conftest import OpenPage
from tests.devices.test_attempts import BUY_IN_COMMANDS, BUY_IN_SENTENCES
from tests.unit.automation.stored_screens.agreement import SteppingRun
from tests.unit.automation.stored_screens.generated_steps import StepGenerator

FAILING = [
    'Tap "Checkout now"',
    'I see "Nothing"',
    'I do not see "Log in"',
    {"assertVisible": {"id": "email", "below": "Log in"}},
]


@pytest.mark.parametrize(
    "steps", [BUY_IN_SENTENCES, BUY_IN_COMMANDS, FAILING], ids=["sentences", "commands", "failing"]
)
async def test_flows_of_the_web_shop(open_page: OpenPage, web_shop: str, steps: list[object]) -> None:
    agreement = await SteppingRun(await open_page(web_shop), seconds=2).run(*steps)
    assert agreement.wrong == []
    assert agreement.decided > 0.6 * agreement.steps.total()


@pytest.mark.parametrize("page", ["playground.html", "edges.html"])
async def test_random_steps_on_a_page(open_page: OpenPage, pages: str, page: str) -> None:
    browser = await open_page(f"{pages}/{page}")
    run, generator = SteppingRun(browser, seconds=0.3), StepGenerator(7)
    for _ in range(40):
        await run.run(generator.step(list(walk(await browser.view.tree()))))
    assert run.agreement.wrong == []
    assert run.agreement.decided > 20
