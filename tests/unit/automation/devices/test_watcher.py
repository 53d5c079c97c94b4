"""Waiting uses the device's clock, and ends as soon as the condition holds."""

from mobiletest_automation.devices.watcher import Watcher
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.outline import Outline
from tests.fakes.devices import FakeDevice, button, screen


def first(outline: Outline) -> Element | None:
    return outline.visible[0] if outline.visible else None


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
