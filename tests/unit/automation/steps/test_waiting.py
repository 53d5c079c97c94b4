"""How long steps wait, and for what."""

import pytest

from mobiletest_automation.attempt import AttemptRunner
from mobiletest_automation.model.failures import Category
from mobiletest_automation.screen.elements import Element
from tests.fakes.devices import FakeDevice, FakeDevices, button, screen
from tests.unit.automation.attempts import failure_of, plan, run, statuses


async def test_steps_wait_for_their_elements() -> None:
    def show(now: float) -> Element:
        return screen(button("Pay", enabled=now >= 7)) if now >= 3 else screen()

    device = FakeDevice(show)
    assert (await run(device, "Tap Pay")).failure is None
    assert device.timer.now() >= 7
    assert (await run(FakeDevice(show), {"tapOn": "Pay"})).failure is None


@pytest.mark.parametrize(
    ("step", "seconds"),
    [
        ({"tapOn": {"text": "Later"}}, 17),
        ({"tapOn": {"text": "Later", "optional": True}}, 7),
        ({"assertVisible": {"text": "Later", "optional": True}}, 17),
        ({"extendedWaitUntil": {"visible": "Later"}}, 17),
        ({"extendedWaitUntil": {"visible": "Later", "timeout": 40000}}, 40),
        ({"runFlow": {"when": {"visible": "Later"}, "commands": ["back"]}}, 7),
        ({"runFlow": {"when": {"notVisible": "Pay"}, "commands": ["back"]}}, 7.5),
    ],
)
async def test_commands_wait_as_long_as_in_maestro(step: object, seconds: float) -> None:
    device = FakeDevice(screen(button("Pay")))
    await AttemptRunner(FakeDevices(device)).run(plan(step, step_seconds=30))
    assert device.timer.now() == pytest.approx(seconds)


async def test_a_condition_waits_for_an_element_to_disappear() -> None:
    device = FakeDevice(lambda now: screen(button("Banner")) if now < 5 else screen())
    result = await run(device, {"runFlow": {"when": {"notVisible": "Banner"}, "commands": ["back"]}})
    assert statuses(result) == ["runFlow passed", "  back passed"]


async def test_an_ambiguous_sentence_waits_and_then_lists_the_candidates() -> None:
    two, one = screen(button("Add"), button("Add")), screen(button("Add"))
    assert (await run(FakeDevice(lambda now: two if now < 1 else one), "Tap Add")).failure is None
    result = await run(FakeDevice(two), "Tap Add")
    assert failure_of(result).category is Category.SCRIPT_ERROR
    assert "2 elements match Add" in failure_of(result).message


async def test_the_state_of_something_that_may_be_there_under_another_name_is_refused() -> None:
    """Whether "Gym alarm" is what "Gym" labels, the rules cannot know; of what is not there at all they are certain."""
    for shown, category in (("Gym", Category.SCRIPT_ERROR), ("Work", Category.ELEMENT_NOT_FOUND)):
        result = await run(FakeDevice(screen(button(shown))), "The Gym alarm is off")
        assert failure_of(result).category is category


async def test_a_name_like_two_steps_is_waited_for() -> None:
    device = FakeDevice(lambda now: screen(button("Save and close")) if now > 5 else screen())
    assert (await run(device, "Tap Save and close")).failure is None
    result = await run(FakeDevice(screen(button("Save"))), "Tap Save and close")
    assert failure_of(result).category is Category.SCRIPT_ERROR


async def test_an_element_replaced_by_a_similar_one_is_not_gone() -> None:
    for first in (screen(button("Error")), screen()):
        device = FakeDevice(lambda now, first=first: first if now < 0.2 else screen(button("Error: wrong password")))
        result = await run(device, 'I do not see "Error"')
        assert "Error: wrong password" in failure_of(result).message
