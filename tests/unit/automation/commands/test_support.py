"""Commands that a device cannot do end a test before its first step, if it certainly runs them."""

import pytest

from mobiletest_automation.devices.port import DeviceFailure, DeviceInfo
from mobiletest_automation.flows.app_commands import KillApp
from mobiletest_automation.model.failures import Category
from tests.fakes.devices import FakeDevice, screen
from tests.unit.automation.attempts import failure_of, pay, run

REFUSED = {KillApp: "this device cannot kill apps"}


@pytest.mark.parametrize(
    "steps",
    [
        ["back", "killApp"],
        ["back", {"runFlow": {"commands": ["killApp"]}}],
        ["back", {"runFlow": {"when": {"platform": "Android"}, "commands": ["killApp"]}}],
        ["back", {"repeat": {"times": 2, "commands": ["killApp"]}}],
        ["back", {"retry": {"commands": ["killApp"]}}],
        [{"appId": "a.b", "onFlowComplete": ["killApp"]}, "back"],
    ],
)
async def test_what_a_device_cannot_do_is_said_before_the_first_step(steps: list[object]) -> None:
    device = FakeDevice()
    device.refused = REFUSED
    result = await run(device, *steps)
    assert result.failure is not None
    assert result.failure.category is Category.CONFIG_INVALID
    assert result.failure.message.startswith("steps[")
    assert "this device cannot kill apps" in result.failure.message
    assert device.done == []
    assert result.steps == ()


@pytest.mark.parametrize(
    "steps",
    [
        [{"killApp": {"optional": True}}],
        [{"runFlow": {"when": {"platform": "iOS"}, "commands": ["killApp"]}}],
        [{"runFlow": {"when": {"visible": "Pay"}, "commands": ["killApp"]}}],
        [{"runFlow": {"when": {"true": "${maestro.platform == 'ios'}"}, "commands": ["killApp"]}}],
        [{"repeat": {"times": 0, "commands": ["killApp"]}}],
        [{"runFlow": {"commands": ["killApp"], "optional": True}}],
    ],
)
async def test_a_command_that_may_not_run_does_not_stop_the_test(steps: list[object]) -> None:
    device = FakeDevice()
    device.refused = REFUSED
    result = await run(device, "back", *steps)
    assert result.failure is None
    assert "kill" not in device.done


async def test_a_command_that_a_device_cannot_do_fails_when_it_is_reached() -> None:
    device = FakeDevice(screen(pay()))
    device.refused = REFUSED
    result = await run(device, {"runFlow": {"when": {"visible": "Pay"}, "commands": ["killApp"]}})
    assert failure_of(result).category is Category.SCRIPT_ERROR
    assert failure_of(result).message == "this device cannot kill apps"


@pytest.mark.parametrize(("browser", "platform"), [(False, "Android"), (True, "Web")])
async def test_a_browser_is_a_platform_of_its_own(browser: bool, platform: str) -> None:
    device = FakeDevice()
    device.info = DeviceInfo("one", "android", simulated=False, browser=browser, udid="0A1B")
    env = {"env": {"TEXT": "${maestro.platform + ' ' + MAESTRO_DEVICE_UDID}"}}
    steps = [
        {"runFlow": {"when": {"platform": each}, "commands": [{"inputText": each}]}} for each in ("Android", "Web")
    ]
    assert (await run(device, env, *steps, {"inputText": "${TEXT}"})).failure is None
    typed = [each for each in device.done if each.startswith("type")]
    assert typed == [f"type {platform}", f"type {platform.lower()} 0A1B"]


async def test_a_variable_of_the_flow_without_a_value_ends_the_attempt_before_its_first_step() -> None:
    device = FakeDevice(screen(pay()))
    result = await run(device, {"env": {"TEXT": "${NOBODY.name}"}}, "back")
    assert (failure_of(result).category, device.done, result.steps) == (Category.SCRIPT_ERROR, [], ())
    assert "the steps cannot be run: " in failure_of(result).message


@pytest.mark.parametrize("call", ["clear_state", "location", "orientation", "press", "open"])
async def test_an_unsupported_action_is_the_failure(call: str) -> None:
    device = FakeDevice()
    device.failing[call] = DeviceFailure(Category.SCRIPT_ERROR, "not here")
    steps = ["clearState", {"setLocation": {"latitude": 1, "longitude": 2}}, {"setOrientation": "landscape"},
             {"pressKey": "lock"}, {"openLink": "a://b"}]  # fmt: skip
    failure = failure_of(await run(device, *steps))
    assert (failure.category, failure.message) == (Category.SCRIPT_ERROR, "not here")
