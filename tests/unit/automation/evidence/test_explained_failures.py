"""A failure says how the app crashed, if the log of its step does."""

import pytest

from mobiletest_automation.devices.port import LEFT_OUT, AppUnderTest, DeviceFailure
from mobiletest_automation.model.failures import Category
from tests.fakes.devices import FakeDevice, button, screen
from tests.unit.automation import dialogs
from tests.unit.automation.attempts import failure_of, run
from tests.unit.automation.evidence.test_crashes import SHOP, fatal, joined, not_responding

BUILD = AppUnderTest(package_name=SHOP)
CRASHED = joined(fatal())
REASON = "java.lang.IllegalStateException in com.example.shop.CartActivity.onCreate: no total in Cart@... of order ..."


def device(recently: str = CRASHED, before: str = "", **texts: str) -> FakeDevice:
    shown = FakeDevice(screen(button("Pay")))
    shown.logged, shown.logged_recently = before + recently, recently
    return shown


@pytest.mark.parametrize("step", ["Tap Buy", "I see Buy", '"Pay" is disabled', {"assertVisible": "Buy"}])
async def test_a_step_fails_by_the_crash_of_the_app(step: object) -> None:
    failure = failure_of(await run(device(), "back", step, build=BUILD, step_seconds=1))
    assert (failure.category, failure.reason) == (Category.APP_CRASH, REASON)
    assert failure.message.startswith("com.example.shop crashed: java.lang.IllegalStateException: no total in Cart@")
    assert "CartActivity.kt:42); " in failure.message


async def test_the_step_is_kept_and_equal_crashes_belong_together_whatever_the_step() -> None:
    result = await run(device(), "back", "Tap Buy", build=BUILD, step_seconds=1)
    failure = failure_of(result)
    assert (failure.step_index, failure.step_kind) == (1, "")
    assert (result.steps[1].category, result.steps[1].message) == (Category.APP_CRASH, failure.message)
    assert "Buy was not found" in failure.message


async def test_an_app_that_has_ended_says_how() -> None:
    ended = device("", CRASHED)
    ended.failing["back"] = DeviceFailure(Category.APP_CRASH, f"{SHOP} is no longer running")
    failure = failure_of(await run(ended, "back", build=BUILD))
    assert (failure.category, failure.reason) == (Category.APP_CRASH, REASON)
    assert "is no longer running" not in failure.message


async def test_an_app_that_does_not_respond_is_the_cause() -> None:
    failure = failure_of(await run(device(joined(not_responding())), "Tap Buy", build=BUILD, step_seconds=1))
    assert failure.category is Category.APP_NOT_RESPONDING
    assert failure.message.startswith(f"{SHOP} did not respond: ANR: Input dispatching timed out")


async def test_a_crash_before_the_last_steps_is_named_but_not_the_cause() -> None:
    failure = failure_of(await run(device("", CRASHED), "Tap Buy", build=BUILD, step_seconds=1))
    assert failure.category is Category.ELEMENT_NOT_FOUND
    assert failure.step_kind == "sentence"
    assert failure.reason == "Buy was not found"
    assert "(earlier com.example.shop crashed: java.lang.IllegalStateException" in failure.message


async def test_a_crash_after_the_failure_changes_nothing() -> None:
    """The log is read before the screen is captured: what comes later was not yet there when the step failed."""

    class Crashing(FakeDevice):
        async def screenshot(self) -> bytes:
            self.logged = self.logged_recently = CRASHED
            return await super().screenshot()

    failure = failure_of(await run(Crashing(), "I see Buy", build=BUILD, step_seconds=1))
    assert (failure.category, failure.reason) == (Category.ASSERTION_FAILED, "Buy did not appear")


@pytest.mark.parametrize("build", [AppUnderTest(), AppUnderTest(package_name="com.example.clock")])
async def test_the_crash_of_another_app_changes_nothing(build: AppUnderTest) -> None:
    failure = failure_of(await run(device(), "Tap Buy", build=build, step_seconds=1))
    assert (failure.category, failure.reason) == (Category.ELEMENT_NOT_FOUND, "Buy was not found")


async def test_a_crash_makes_no_passing_step_fail_nor_a_failure_that_is_tolerated() -> None:
    steps = ["Tap Pay", {"tapOn": {"text": "Buy", "optional": True}}]
    assert (await run(device(), *steps, build=BUILD)).failure is None


@pytest.mark.parametrize(
    "category", [Category.SESSION_LOST, Category.DEVICE_UNAVAILABLE, Category.SCRIPT_ERROR, Category.NETWORK_ERROR]
)
async def test_failures_of_the_infrastructure_and_of_the_test_stay_what_they_are(category: Category) -> None:
    failing = device()
    failing.failing["back"] = DeviceFailure(category, "gone")
    failure = failure_of(await run(failing, "back", build=BUILD))
    assert (failure.category, failure.reason) == (category, "gone")


async def test_a_launch_that_fails_by_a_crash_says_so() -> None:
    failing = device()
    failing.failing["launch"] = DeviceFailure(Category.APP_LAUNCH_FAILED, "it did not start")
    failure = failure_of(await run(failing, "Tap Pay", build=BUILD))
    assert (failure.category, failure.reason) == (Category.APP_LAUNCH_FAILED, REASON)
    assert failure.message.endswith("; it did not start")


async def test_secrets_in_the_message_of_an_exception_are_masked() -> None:
    leaky = device(CRASHED.replace("no total", "no total of tok-1234567"))
    result = await run(leaky, "Tap Buy", build=BUILD, step_seconds=1, env={"API_TOKEN": "tok-1234567"})
    failure = failure_of(result)
    assert "tok-1234567" not in failure.message + failure.reason + result.steps[0].message
    assert "${API_TOKEN}" in failure.message


async def test_a_log_that_cannot_be_read_changes_nothing() -> None:
    silent = device()
    silent.failing["log"] = DeviceFailure(Category.SESSION_LOST, "gone")
    failure = failure_of(await run(silent, "Tap Buy", build=BUILD, step_seconds=1))
    assert failure.category is Category.ELEMENT_NOT_FOUND


SYSTEM_UI = "com.android.systemui"
ANR_OF_SYSTEM_UI = joined(not_responding(SYSTEM_UI))


def hidden_by(dialog: str, recently: str = "", before: str = "", *others: str) -> FakeDevice:
    """A phone on which a dialog, and windows of `others`, are all that is on the screen."""
    shown = FakeDevice(dialogs.android(*others, dialog))
    shown.logged, shown.logged_recently = f"{before}\n{recently}", recently
    return shown


@pytest.mark.parametrize("step", ["Tap Pay", "I see Pay", {"assertVisible": "Pay"}])
async def test_the_dialog_of_another_app_is_no_fault_of_the_test(step: object) -> None:
    phone = hidden_by(dialogs.not_responding(), ANR_OF_SYSTEM_UI)
    failure = failure_of(await run(phone, step, build=BUILD, step_seconds=1))
    assert failure.category is Category.DEVICE_UNAVAILABLE
    assert failure.reason == "the system showed that an app does not respond, of com.android.systemui"
    assert failure.message.startswith(f'{failure.reason}: "System UI isn\'t responding"; ')
    assert "Pay" in failure.message


async def test_the_dialog_of_the_app_under_test_is_its_crash() -> None:
    """Also if the app has crashed before the last two steps: the dialog shows that it was not started again."""
    for recently, before in ((CRASHED, ""), ("", CRASHED)):
        failure = failure_of(
            await run(hidden_by(dialogs.crashed(), recently, before), "Tap Pay", build=BUILD, step_seconds=1)
        )
        assert (failure.category, failure.reason) == (Category.APP_CRASH, REASON)


@pytest.mark.parametrize(
    ("dialog", "recently", "before"),
    [
        # No log says of which app it is.
        (dialogs.not_responding("Shop isn't responding"), "", ""),
        (dialogs.not_responding(), joined(fatal(SYSTEM_UI)), ""),
        # Before the last two steps: whether the dialog has been there since then is unknown.
        (dialogs.not_responding(), "", ANR_OF_SYSTEM_UI),
        # Both, or what may be a process of the app.
        (dialogs.not_responding(), ANR_OF_SYSTEM_UI, joined(not_responding())),
        (dialogs.not_responding(), joined(not_responding("com.example.sync")), ""),
        # The lines of the app may be among those that are missing.
        (dialogs.not_responding(), f"{LEFT_OUT}{ANR_OF_SYSTEM_UI}", ""),
        (dialogs.permission(), ANR_OF_SYSTEM_UI, ""),
    ],
)
async def test_a_dialog_of_which_the_app_is_unknown_is_named_and_changes_nothing(
    dialog: str, recently: str, before: str
) -> None:
    failure = failure_of(await run(hidden_by(dialog, recently, before), "Tap Pay", build=BUILD, step_seconds=1))
    assert (failure.category, failure.reason) == (Category.ELEMENT_NOT_FOUND, "Pay was not found")
    assert "(the system " in failure.message


async def test_a_dialog_beside_the_app_and_a_wrong_step_change_nothing() -> None:
    beside = hidden_by(dialogs.not_responding(), ANR_OF_SYSTEM_UI, "", dialogs.shop("Buy"))
    failure = failure_of(await run(beside, "Tap Pay", build=BUILD, step_seconds=1))
    assert (failure.category, failure.reason) == (Category.ELEMENT_NOT_FOUND, "Pay was not found")
    assert '(the system showed that an app does not respond, of com.android.systemui: "System' in failure.message
    alone = hidden_by(dialogs.not_responding(), ANR_OF_SYSTEM_UI)
    failure = failure_of(await run(alone, "Tap close", {"assertTrue": "${false}"}, build=BUILD, step_seconds=1))
    assert failure.category is Category.ASSERTION_FAILED  # the step looked at no screen


async def test_a_dialog_that_the_test_handles_is_no_failure() -> None:
    steps = [{"tapOn": {"text": "Pay", "optional": True}}, "Tap wait", {"tapOn": "Pay"}]
    phone = hidden_by(dialogs.not_responding(), ANR_OF_SYSTEM_UI)
    answered, pay = phone.show, dialogs.android(dialogs.shop("Pay"))
    phone.show = lambda now: pay if any(done.startswith("tap wait") for done in phone.done) else answered
    result = await run(phone, *steps, build=BUILD, step_seconds=1)
    assert (result.failure, phone.done[-2:]) == (None, ["tap wait", "tap Pay"])
