"""Attempts: what passes, what fails with which category, and what is recorded."""

import pytest

from mobiletest_automation.attempt import AttemptRunner
from mobiletest_automation.devices.port import LAUNCH, DeviceFailure, LaunchOptions
from mobiletest_automation.model.failures import Category, Fault
from mobiletest_automation.model.results import Resolution, StepStatus
from mobiletest_automation.model.run_config import ExecutionMode, FallbackTrigger, Grounder, RunConfig
from mobiletest_automation.ports import ChosenAction
from mobiletest_automation.screen.elements import Element, Role
from mobiletest_automation.sentences.intents import Action
from tests.fakes.devices import FakeDevice, FakeDevices, button, screen
from tests.fakes.models import FakeModel
from tests.unit.automation.attempts import PAY, failure_of, plan, run, statuses


async def test_a_test_passes_when_every_step_does_what_it_says() -> None:
    device = FakeDevice(screen(button("Pay"), Element(role=Role.FIELD, label="Name")))
    result = await run(device, "Tap Pay", 'Type "Ada" into Name', {"assertVisible": "Pay"}, "back")
    assert result.failure is None
    assert device.done == ["install", "launch", "tap Pay", "type Ada into Name", "back"]
    assert [step.index for step in result.steps] == [0, 1, 2, 3]
    assert [step.resolution for step in result.steps[:3]] == [Resolution.RULE, Resolution.RULE, Resolution.COMMAND]
    assert (result.steps[0].action, result.steps[0].element) == ("tap", 'button "Pay"')
    assert (result.device, result.simulated, device.closed) == ("fake-1", False, 1)


ACTIONS = [
    ("Double tap Pay", "double_tap Pay"),
    ("Long press Pay for 2 seconds", "long_press Pay 2"),
    ("Clear Name", "clear Name"),
    ('Type "x"', "type x into Name"),
    ("Press enter", "press enter"),
    ("Hide the keyboard", "hide keyboard"),
    ("Open link app://x", "open app://x"),
    ("Swipe left", "swipe 324,320 36,320"),
    ("Swipe up on Pay", "swipe 0,0 1,1"),
    ("Scroll", "swipe 180,320 180,64"),
    ("Scroll to the bottom", "swipe 180,320 180,64"),
    ("Stop the app", "stop"),
    ("Launch com.other", "launch com.other"),
    ("Go back", "back"),
    ({"swipe": {"start": "50%, 50%", "end": "0%, 0%"}}, "swipe 180,320 0,0"),
    ({"swipe": {"start": "10, 20", "end": "30, 40"}}, "swipe 10,20 30,40"),
    ({"swipe": {"direction": "right", "from": "Pay"}}, "swipe 0,0 324,1"),
]


async def test_every_action_reaches_the_device() -> None:
    device = FakeDevice(screen(button("Pay"), Element(role=Role.FIELD, label="Name", focused=True)))
    await run(device, *(step for step, _ in ACTIONS))
    assert device.done == ["install", "launch", *(done for _, done in ACTIONS)]


@pytest.mark.parametrize(
    ("step", "category", "reason"),
    [
        ("Tap Pay", Category.ELEMENT_NOT_FOUND, "Pay was not found"),
        ({"tapOn": "Pay"}, Category.ELEMENT_NOT_FOUND, '"Pay" was not found'),
        ('I see "Pay"', Category.ASSERTION_FAILED, '"Pay" did not appear'),
        ({"assertVisible": "Pay"}, Category.ASSERTION_FAILED, '"Pay" did not appear'),
        ('I do not see "Off"', Category.ASSERTION_FAILED, '"Off" was still visible'),
        ({"assertNotVisible": "Off"}, Category.ASSERTION_FAILED, '"Off" was still visible'),
        ('Wait for "Pay" for up to 2 seconds', Category.STEP_TIMEOUT, '"Pay" did not appear'),
        ('Wait until "Off" disappears within 2 s', Category.STEP_TIMEOUT, '"Off" was still visible'),
        ({"extendedWaitUntil": {"visible": "Pay", "timeout": 2000}}, Category.STEP_TIMEOUT, '"Pay" did not appear'),
        ({"extendedWaitUntil": {"notVisible": "Off"}}, Category.STEP_TIMEOUT, '"Off" was still visible'),
        ("Tap Off", Category.STEP_TIMEOUT, 'button "Off" was disabled'),
        ('"Off" is enabled', Category.ASSERTION_FAILED, 'button "Off" is disabled'),
        ('"On" is disabled', Category.ASSERTION_FAILED, 'button "On" is enabled'),
        ("News is checked", Category.ASSERTION_FAILED, 'checkbox "News" is not checked'),
        ("Done is unchecked", Category.ASSERTION_FAILED, 'checkbox "Done" is checked'),
        ('The total is "$5"', Category.ASSERTION_FAILED, 'the text of text "$12" is "$12", which is not "$5"'),
        (
            'The total contains "5"',
            Category.ASSERTION_FAILED,
            'the text of text "$12" is "$12", which does not contain "5"',
        ),
        ('"Nowhere" is enabled', Category.ELEMENT_NOT_FOUND, '"Nowhere" was not found'),
        ('Scroll until "Pay" is visible', Category.ELEMENT_NOT_FOUND, '"Pay" was not found'),
        ('Type "x"', Category.SCRIPT_ERROR, "no field has the focus: say into which field"),
        (
            "Start the Mail app",
            Category.SCRIPT_ERROR,
            'unknown app "Mail": give its bundle or package id (the app under test is app)',
        ),
    ],
)
async def test_a_failing_verdict_has_its_category_and_reason(step: object, category: Category, reason: str) -> None:
    device = FakeDevice(
        screen(
            button("Off", enabled=False),
            button("On"),
            Element(role=Role.CHECKBOX, text="News", checked=False),
            Element(role=Role.CHECKBOX, text="Done", checked=True),
            Element(role=Role.TEXT, text="$12", id="total"),
        )
    )
    result = await run(device, "Tap On", step, "Tap On")
    assert result.failure is not None
    assert (result.failure.category, result.failure.reason, result.failure.step_index) == (category, reason, 1)
    assert category.fault is Fault.TEST
    assert result.failure.step_kind == result.steps[1].kind
    assert (len(result.steps), result.steps[1].status, result.steps[1].category) == (2, StepStatus.FAILED, category)
    assert result.steps[1].message == result.failure.message
    assert device.closed == 1


async def test_a_failure_says_what_is_on_the_screen() -> None:
    result = await run(FakeDevice(screen(button("On"))), 'Tap "Pay"')
    assert failure_of(result).message == '"Pay" was not found within 10 s. On the screen: button "On".'
    nothing = await run(FakeDevice(), 'Tap "Pay"')
    assert failure_of(nothing).message.endswith("No named element is on the screen.")


@pytest.mark.parametrize(
    ("call", "category"),
    [
        ("install", Category.APP_INSTALL_FAILED),
        ("launch", Category.APP_LAUNCH_FAILED),
        ("install", Category.ARTIFACT_INVALID),
    ],
)
async def test_a_failure_before_the_first_step_has_no_step(call: str, category: Category) -> None:
    device = FakeDevice()
    device.failing[call] = DeviceFailure(category, "no room")
    result = await run(device, "Tap Pay")
    assert result.failure is not None
    assert (result.failure.category, result.failure.message, result.failure.step_index) == (category, "no room", None)
    assert (result.steps, result.device, device.closed) == ((), "fake-1", 1)


@pytest.mark.parametrize("category", [Category.SESSION_LOST, Category.APP_CRASH, Category.APP_NOT_RESPONDING])
async def test_a_device_failure_is_the_failure_of_the_step(category: Category) -> None:
    device = FakeDevice(screen(button("Pay")))
    device.failing["tap"] = DeviceFailure(category, "it died")
    for step in ("Tap Pay", {"tapOn": {"text": "Pay", "optional": True}}, {"retry": {"commands": ["Tap Pay"]}}):
        result = await run(device, step)
        assert (failure_of(result).category, failure_of(result).message) == (category, "it died")


async def test_without_a_device_there_is_no_verdict() -> None:
    failure = DeviceFailure(Category.DEVICE_UNAVAILABLE, "all busy")
    result = await AttemptRunner(FakeDevices(failure=failure)).run(plan("Tap Pay"))
    assert (failure_of(result).category, result.device) == (Category.DEVICE_UNAVAILABLE, None)


OPEN_LINK = {"openLink": "shop://orders/7"}
LAUNCH_IN_BLOCK = {"runFlow": {"commands": ["launchApp"]}}
LAUNCH_PERHAPS = {"runFlow": {"when": {"visible": "Nothing"}, "commands": ["launchApp"]}}
TAP_PERHAPS = {"runFlow": {"when": {"visible": "Nothing"}, "commands": ["Tap Pay"]}}


@pytest.mark.parametrize(
    ("steps", "first"),
    [
        (["Tap Pay"], "launch"),
        (["Launch the app", "Tap Pay"], "launch"),
        ([{"runScript": {"script": "1"}}, "Tap Pay"], "launch"),
        ([{"tapOn": "Pay"}, "Tap Pay"], "launch"),
        ([{"setPermissions": {"permissions": {"camera": "deny"}}}, "Tap Pay"], "launch"),
        ([LAUNCH_PERHAPS, "Tap Pay"], "launch"),
        ([TAP_PERHAPS, "launchApp"], "launch"),
        ([{"onFlowStart": ["Tap Pay"]}, "launchApp"], "launch"),
        ([OPEN_LINK], "open"),
        ([{"repeat": {"times": 1, "commands": [OPEN_LINK]}}, "Tap Pay"], "open"),
        ([{"onFlowStart": [OPEN_LINK]}, {"tapOn": "Pay"}], "open"),
        ([{"tapOn": "Pay"}], "tap"),
        ([{"tapOn": "Pay"}, "launchApp"], "tap"),
        ([LAUNCH_PERHAPS, {"tapOn": "Pay"}], "tap"),
        ([{"setPermissions": {"permissions": {"camera": "deny"}}}, {"launchApp": {"stopApp": False}}], "permissions"),
        ([{"setLocation": {"latitude": 1, "longitude": 2}}, LAUNCH_IN_BLOCK, "Tap Pay"], "location"),
        (["clearState", "launchApp", "Tap Pay"], "clear_state"),
    ],
)  # fmt: skip
async def test_the_app_is_launched_before_sentences_and_not_before_commands(steps: list[object], first: str) -> None:
    device = FakeDevice(screen(PAY))
    result = await run(device, *steps)
    assert (result.failure, device.done[0]) == (None, "install")
    assert device.done[1].split()[0] == first
    launches = [done for done in device.done if done.startswith("launch")]
    assert len(launches) <= 1 + (first == "launch" and "launchApp" in steps)


async def test_the_app_is_launched_where_its_installation_is_skipped() -> None:
    skipping = RunConfig(execution_mode=ExecutionMode(skip_app_install=True))
    for step, done in (("Tap Pay", ["launch", "tap Pay"]), ("back", ["back"])):
        device = FakeDevice(screen(PAY))
        await run(device, step, config=skipping)
        assert device.done == done


async def test_a_test_that_never_launches_its_app_gets_a_hint() -> None:
    for step in ({"tapOn": "Pay"}, {"assertVisible": "Pay"}):
        message = failure_of(await run(FakeDevice(), "back", step)).message
        assert message.endswith("(no step launches the app: begin with launchApp)")
        assert "no step launches" not in failure_of(await run(FakeDevice(), "launchApp", step)).message


async def test_steps_that_cannot_be_parsed_are_the_tests_fault() -> None:
    device = FakeDevice()
    result = await run(device, "back", {"tapOnn": "x"})
    assert (failure_of(result).category, device.done) == (Category.SCRIPT_ERROR, [])
    assert "steps[1].tapOnn" in failure_of(result).message


async def test_an_optional_step_may_fail() -> None:
    result = await run(FakeDevice(screen(button("Pay"))), {"tapOn": {"text": "Later", "optional": True}}, "Tap Pay")
    assert result.failure is None
    assert statuses(result) == ["tapOn warned", "sentence passed"]
    assert result.steps[0].message.startswith('"Later" was not found')


async def test_an_optional_step_tolerates_a_launch_failure_but_not_its_own_expression() -> None:
    device = FakeDevice()
    device.failing["stop"] = DeviceFailure(Category.APP_LAUNCH_FAILED, "not installed")
    result = await run(device, {"stopApp": {"optional": True}}, "back")
    assert (result.failure, statuses(result)) == (None, ["stopApp warned", "back passed"])
    for step in (
        {"inputText": {"text": "${maestro.x.y}", "optional": True}},
        {"retry": {"commands": [{"tapOn": "${maestro.x.y}"}]}},
    ):
        result = await run(FakeDevice(), step)
        assert (failure_of(result).category, "TypeError" in failure_of(result).message) == (Category.SCRIPT_ERROR, True)


async def test_all_permissions_are_granted_unless_the_flow_names_some() -> None:
    for permissions, granted in (
        ({}, True),
        ({"permissions": {"camera": "deny"}}, False),
        ({"permissions": {}}, False),
    ):
        device = LaunchRecorder()
        await run(device, {"launchApp": permissions})
        assert [options.grants_permissions for options in device.launches] == [granted]


class LaunchRecorder(FakeDevice):
    def __init__(self) -> None:
        super().__init__()
        self.launches: list[LaunchOptions] = []

    async def launch(self, options: LaunchOptions = LAUNCH) -> None:
        self.launches.append(options)


async def test_a_sentence_beyond_the_rules_without_a_model() -> None:
    for trigger, category in (
        (FallbackTrigger.STEP_FAIL, Category.CONFIG_INVALID),
        (FallbackTrigger.FINAL_FAIL, Category.CONFIG_INVALID),
        (FallbackTrigger.NEVER, Category.SCRIPT_ERROR),
    ):
        result = await run(FakeDevice(), "Buy the cheapest mug", config=RunConfig(fallback_trigger=trigger))
        assert failure_of(result).category is category
        if category is Category.CONFIG_INVALID:
            assert "MOBILETEST_LLM_BASE_URL" in failure_of(result).message


async def test_an_attempt_only_for_a_model_takes_no_device_without_one() -> None:
    final = RunConfig(fallback_trigger=FallbackTrigger.FINAL_FAIL)
    device = FakeDevice(screen(button("Pay")))
    without = await AttemptRunner(FakeDevices(device)).run(plan("Tap Pay", config=final, ask_model=False))
    assert (without.failure, device.done) == (None, ["install", "launch", "tap Pay"])
    extra = await AttemptRunner(FakeDevices()).run(plan("Tap Pay", config=final, ask_model=True))
    assert (failure_of(extra).category, extra.steps, extra.device) == (Category.CONFIG_INVALID, (), None)
    assert "MOBILETEST_LLM_BASE_URL" in failure_of(extra).message


@pytest.mark.parametrize(
    "mode",
    [
        ExecutionMode(grounder_type=Grounder.LLM),
        ExecutionMode(enable_planning=True),
        ExecutionMode(enable_reflection=True),
    ],
)
async def test_requiring_a_missing_model_ends_without_a_verdict(mode: ExecutionMode) -> None:
    device = FakeDevice()
    result = await run(device, "back", config=RunConfig(execution_mode=mode))
    assert (failure_of(result).category, device.done) == (Category.CONFIG_INVALID, [])


@pytest.mark.parametrize(
    ("answer", "passes"),
    [
        (ChosenAction(Action.ASSERT_VISIBLE, button("Pay")), True),
        (ChosenAction(Action.ASSERT_VISIBLE), False),
        (ChosenAction(Action.ASSERT_NOT_VISIBLE), True),
        (ChosenAction(Action.ASSERT_NOT_VISIBLE, button("Pay")), False),
        (ChosenAction(Action.ASSERT_ENABLED, button("Pay")), True),
        (ChosenAction(Action.ASSERT_TEXT, button("Pay"), "Buy"), False),
        (ChosenAction(Action.ASSERT_CHECKED), False),
    ],
)
async def test_what_a_model_checks_is_checked(answer: ChosenAction, passes: bool) -> None:
    config = RunConfig(execution_mode=ExecutionMode(grounder_type=Grounder.LLM))
    device = FakeDevice(screen(answer.element) if answer.element is not None else screen())
    result = await run(device, "Look at it", config=config, model=FakeModel([answer]))
    assert (result.failure is None) is passes
