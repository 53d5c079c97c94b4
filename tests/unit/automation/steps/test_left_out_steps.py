"""Steps that are left out: they are listed, and what happens to the app depends on the first one."""

import pytest

from mobiletest_automation.devices.port import DeviceInfo
from tests.fakes.devices import FakeDevice, button, screen
from tests.unit.automation.attempts import run, statuses

BLOCK = {"runFlow": {"commands": ["back"]}}


async def test_steps_that_are_left_out_are_skipped_with_those_inside_them() -> None:
    result = await run(FakeDevice(), BLOCK, "back", BLOCK, left_out=frozenset({"steps[0].runFlow", "steps[2].runFlow"}))
    skipped = ["runFlow skipped", "  back skipped"]
    assert (result.failure, statuses(result)) == (None, [*skipped, "back passed", *skipped])


@pytest.mark.parametrize(
    ("info", "left_out", "done"),
    [
        ({"simulated": False}, {"steps[0]"}, ["tap Pay"]),
        ({"simulated": False}, {"steps[1].tapOn"}, ["install", "launch"]),
        ({"simulated": True}, {"steps[0]"}, ["install", "launch", "tap Pay"]),
        ({"simulated": False, "browser": True}, {"steps[0]"}, ["install", "launch", "tap Pay"]),
    ],
)
async def test_the_app_is_taken_as_it_is_where_a_session_finds_it(
    info: dict[str, bool], left_out: set[str], done: list[str]
) -> None:
    device = FakeDevice(screen(button("Pay")))
    device.info = DeviceInfo("device", "android", **info)
    await run(device, "launchApp", {"tapOn": "Pay"}, left_out=frozenset(left_out))
    assert device.done == done
