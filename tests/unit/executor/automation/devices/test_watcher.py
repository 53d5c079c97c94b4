"""Waiting is done in the device's time, and ends as soon as it may."""

from services.executor.automation.devices.watcher import Watcher
from services.executor.automation.screen.elements import Element
from services.executor.automation.screen.outline import Outline
from tests.fakes.devices import FakeDevice, button, screen


def first(outline: Outline) -> Element | None:
    return outline.visible[0] if outline.visible else None


async def test_it_ends_when_something_is_found() -> None:
    device = FakeDevice(lambda now: screen(button("Pay")) if now >= 3 else screen())
    found = await Watcher(device).until(first, 10)
    assert found is not None
    assert 3 <= device.timer.now() <= 4


async def test_it_gives_up_after_the_time_and_looks_at_the_very_end() -> None:
    device = FakeDevice(lambda now: screen(button("Pay")) if now >= 10 else screen())
    assert await Watcher(device).until(first, 9.9) is None
    assert device.timer.now() == 9.9
    other = FakeDevice(lambda now: screen(button("Pay")) if now >= 10 else screen())
    assert await Watcher(other).until(first, 10) is not None


async def test_no_time_is_one_look() -> None:
    assert await Watcher(FakeDevice(screen(button("Pay")))).until(first, 0) is not None


async def test_gone_means_gone_for_a_while() -> None:
    """A spinner that flickers is not gone."""
    device = FakeDevice(lambda now: screen(button("Busy")) if now < 2 or 2.2 < now < 4 else screen())
    assert await Watcher(device).until_gone(first, 10) is None
    assert device.timer.now() >= 4.5


async def test_what_stays_is_named() -> None:
    device = FakeDevice(screen(button("Busy")))
    still = await Watcher(device).until_gone(first, 3)
    assert still is not None
    assert still.text == "Busy"
