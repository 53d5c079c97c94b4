"""What counts as being on the screen, for commands and for sentences, on page sources of Android."""

import pytest

from mobiletest_automation.screen.page_source.reader import read_source
from tests.fakes.devices import FakeDevice
from tests.unit.automation.attempts import run


def shows(*nodes: str) -> FakeDevice:
    return FakeDevice(read_source(f'<hierarchy rotation="0" width="540" height="960">{"".join(nodes)}</hierarchy>'))


def node(name: str, bounds: str, inside: str = "") -> str:
    return f'<node class="android.view.View" text="{name}" resource-id="{name}" bounds="{bounds}">{inside}</node>'


RYE = node("Rye", "[0,0][540,90]")
PEEKING = node("Special", "[0,952][540,1072]")
ENOUGH = node("Special", "[0,948][540,1068]")
LINE = node("end", "[0,400][540,400]")
FAR_LINE = node("end", "[0,1400][540,1400]")
BELOW_LIMIT = {"scrollUntilVisible": {"element": "Special", "timeout": 10, "visibilityPercentage": 1}}


@pytest.mark.parametrize(
    ("nodes", "step", "passes"),
    [
        # Less than a tenth of it is on the screen.
        ((RYE, PEEKING), {"assertVisible": "Special"}, False),
        ((RYE, PEEKING), {"assertNotVisible": "Special"}, True),
        ((RYE, PEEKING), {"tapOn": "Special"}, False),
        ((RYE, PEEKING), {"extendedWaitUntil": {"visible": "Special", "timeout": 10}}, False),
        ((RYE, PEEKING), BELOW_LIMIT, False),
        ((RYE, PEEKING), {"assertVisible": {"text": "Rye", "above": "Special"}}, False),
        ((RYE, PEEKING), {"runFlow": {"when": {"visible": "Special"}, "commands": [{"tapOn": "Nothing"}]}}, True),
        ((RYE, PEEKING), '"Special" is visible', False),
        ((RYE, PEEKING), 'I do not see "Special"', True),
        ((RYE, PEEKING), 'Tap "Special"', False),
        # A tenth is enough, and so is something inside.
        ((RYE, ENOUGH), {"assertVisible": "Special"}, True),
        ((RYE, ENOUGH), {"assertNotVisible": "Special"}, False),
        ((RYE, ENOUGH), BELOW_LIMIT, True),
        ((RYE, ENOUGH), '"Special" is visible', True),
        ((node("Special", "[0,952][540,1072]", node("Price", "[0,952][90,960]")),), {"assertVisible": "Special"}, True),
        # A line is there for commands, and shows nothing to a person.
        ((RYE, LINE), {"assertVisible": {"id": "end"}}, True),
        ((RYE, LINE), {"assertNotVisible": {"id": "end"}}, False),
        ((RYE, LINE), {"scrollUntilVisible": {"element": {"id": "end"}, "timeout": 10}}, True),
        ((RYE, LINE), '"end" is visible', False),
        ((RYE, LINE), 'I do not see "end"', True),
        ((RYE, FAR_LINE), {"assertVisible": {"id": "end"}}, False),
        ((RYE, node("end", "[9,400][9,400]")), {"assertVisible": {"id": "end"}}, False),
    ],
    ids=str,
)
async def test_what_is_on_the_screen(nodes: tuple[str, ...], step: object, passes: bool) -> None:
    result = await run(shows(*nodes), step)
    assert (result.failure is None) is passes, result.failure


async def test_a_line_ends_a_loop_and_can_be_swiped_from() -> None:
    device = shows(RYE, LINE)
    loop = {"repeat": {"times": 5, "while": {"notVisible": {"id": "end"}}, "commands": ["back"]}}
    result = await run(device, loop, {"swipe": {"direction": "LEFT", "from": {"id": "end"}}})
    assert result.failure is None
    assert device.done == ["install", "swipe 270,400 54,400"]
