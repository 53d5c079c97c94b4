"""Waiting uses the device's clock, and ends as soon as the condition holds."""

from services.executor.automation.devices.watcher import Watcher
from services.executor.automation.screen.elements import Element
from services.executor.automation.screen.outline import Outline
from tests.fakes.devices import FakeDevice, button, screen


def first(outline: Outline) -> Element | None:
    return outline.visible[0] if outline.visible else None


async def test_until_returns_the_first_result() -> None:
    device = FakeDevice(lambda now: screen(button("Pay")) if now >= 3 else screen())
    found = await Watcher(device).until(first, 10)
    assert found is not None
    assert 3 <= device.timer.now() <= 4


async def test_until_reads_the_screen_once_more_at_the_deadline() -> None:
    device = FakeDevice(lambda now: screen(button("Pay")) if now >= 10 else screen())
    assert await Watcher(device).until(first, 9.9) is None
    assert device.timer.now() == 9.9
    other = FakeDevice(lambda now: screen(button("Pay")) if now >= 10 else screen())
    assert await Watcher(other).until(first, 10) is not None


async def test_without_time_the_screen_is_read_once() -> None:
    assert await Watcher(FakeDevice(screen(button("Pay")))).until(first, 0) is not None


async def test_an_element_must_be_absent_for_a_while_to_be_gone() -> None:
    """A spinner that flickers is not gone."""
    device = FakeDevice(lambda now: screen(button("Busy")) if now < 2 or 2.2 < now < 4 else screen())
    assert await Watcher(device).until_gone(first, 10) is None
    assert device.timer.now() >= 4.5


async def test_an_element_that_stays_is_returned() -> None:
    device = FakeDevice(screen(button("Busy")))
    still = await Watcher(device).until_gone(first, 3)
    assert still is not None
    assert still.text == "Busy"
