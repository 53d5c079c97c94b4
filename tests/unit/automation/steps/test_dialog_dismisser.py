"""Dialogs of the system are dismissed as the run configuration says, and only where a step cannot go on."""

from dataclasses import replace

import pytest

from mobiletest_automation.devices.port import AppUnderTest
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.run_config import DismissDialogs
from mobiletest_automation.screen.elements import Element
from tests.fakes.devices import FakeDevice
from tests.unit.automation import dialogs
from tests.unit.automation.attempts import NEVER, category, failure_of, run
from tests.unit.automation.evidence.test_crashes import SHOP, fatal, joined, not_responding

BUILD = AppUnderTest(package_name=SHOP)
ALL = DismissDialogs(permission=True, other_app_crash=True, other_app_not_responding=True)
SYSTEM_UI = "com.android.systemui"
LOG = joined(not_responding(SYSTEM_UI), fatal(SYSTEM_UI))


class Phone(FakeDevice):
    """Shows the dialogs, one after the other as their buttons are tapped, and then the app."""

    def __init__(self, *shown: str, log: str = LOG, closes: bool = True) -> None:
        super().__init__(lambda now: self.current())
        self.screens = [dialogs.android(dialog) for dialog in shown]
        self.logged = self.logged_recently = log
        self.closes = closes

    def current(self) -> Element:
        return self.screens[0] if self.screens else dialogs.android(dialogs.shop("Pay"))

    async def tap(self, target: object, *, times: int = 1) -> None:
        await super().tap(target, times=times)  # type: ignore[arg-type]
        if self.closes and self.screens:
            self.screens.pop(0)


async def taps(phone: Phone, *steps: object, dismissed: DismissDialogs = ALL) -> list[str]:
    config = replace(NEVER, dismiss_dialogs=dismissed)
    result = await run(phone, *(steps or ["Tap Pay"]), build=BUILD, step_seconds=3, config=config)
    assert result.failure is None, result.failure
    return [done for done in phone.done if done.startswith("tap")]


async def message(phone: Phone) -> str:
    config = replace(NEVER, dismiss_dialogs=ALL)
    return (await run(phone, "Tap Pay", build=BUILD, step_seconds=3, config=config)).steps[0].message


@pytest.mark.parametrize(
    ("dialog", "setting", "button"),
    [
        (dialogs.permission(), "permission", "Don't allow"),
        (dialogs.crashed(), "other_app_crash", "close"),
        (dialogs.not_responding(), "other_app_not_responding", "wait"),
    ],
)
async def test_each_kind_is_dismissed_by_its_setting(dialog: str, setting: str, button: str) -> None:
    assert await taps(Phone(dialog), dismissed=DismissDialogs(**{setting: True})) == [f"tap {button}", "tap Pay"]
    others = replace(ALL, **{setting: False})
    for dismissed in (DismissDialogs(), others):
        config = replace(NEVER, dismiss_dialogs=dismissed)
        phone = Phone(dialog)
        assert (await run(phone, "Tap Pay", build=BUILD, step_seconds=1, config=config)).failure is not None
        assert "tap" not in " ".join(phone.done)


async def test_a_page_that_looks_like_a_dialog_is_none() -> None:
    phone = Phone(dialogs.permission())
    phone.info = replace(phone.info, browser=True)
    config = replace(NEVER, dismiss_dialogs=ALL)
    failure = failure_of(await run(phone, "Tap Pay", build=BUILD, step_seconds=1, config=config))
    assert "the system" not in failure.message
    assert "tap" not in " ".join(phone.done)


async def test_the_step_says_what_was_dismissed() -> None:
    assert await message(Phone(dialogs.permission())) == '(dismissed the dialog "Allow Shop to take pictures?")'
    assert '(dismissed the dialog "System UI isn\'t responding" of com.android.systemui)' in await message(
        Phone(dialogs.not_responding())
    )


@pytest.mark.parametrize(
    "step",
    ["Tap Don't allow", {"assertVisible": "Don't allow"}, {"runFlow": {"when": {"visible": "Never"}, "commands": []}}],
)
async def test_a_dialog_that_the_step_looks_for_stays(step: object) -> None:
    assert "tap Don't allow" not in (await taps(Phone(dialogs.permission(), closes=False), step))[1:]


async def test_a_dialog_that_must_not_be_there_is_not_dismissed() -> None:
    phone = Phone(dialogs.permission())
    config = replace(NEVER, dismiss_dialogs=ALL)
    result = await run(phone, {"assertNotVisible": "Don't allow"}, build=BUILD, step_seconds=3, config=config)
    assert (category(result), phone.done) == (Category.ASSERTION_FAILED, ["install"])


async def test_what_a_dialog_hides_is_not_gone() -> None:
    phone = Phone(dialogs.permission())
    config = replace(NEVER, dismiss_dialogs=ALL)
    result = await run(phone, {"assertNotVisible": "Pay"}, build=BUILD, step_seconds=3, config=config)
    assert category(result) is Category.ASSERTION_FAILED
    assert "Pay" in failure_of(result).message


@pytest.mark.parametrize("log", ["", joined(not_responding()), joined(not_responding(SYSTEM_UI), not_responding(SHOP))])
async def test_that_the_app_under_test_does_not_respond_is_never_dismissed(log: str) -> None:
    phone = Phone(dialogs.not_responding(), log=log)
    config = replace(NEVER, dismiss_dialogs=ALL)
    assert (await run(phone, "Tap Pay", build=BUILD, step_seconds=1, config=config)).failure is not None
    assert "tap" not in " ".join(phone.done)


async def test_a_step_dismisses_three_dialogs_and_none_twice() -> None:
    several = [dialogs.permission(), dialogs.not_responding(), dialogs.crashed()]
    assert len(await taps(Phone(*several))) == 4
    config = replace(NEVER, dismiss_dialogs=ALL)
    for phone in (Phone(*several, dialogs.permission()), Phone(dialogs.permission(), closes=False)):
        result = await run(phone, "Tap Pay", build=BUILD, step_seconds=3, config=config)
        assert category(result) is Category.ELEMENT_NOT_FOUND
        assert len([done for done in phone.done if done.startswith("tap")]) == (3 if phone.closes else 1)
