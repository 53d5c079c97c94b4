"""Waits until a screen is stable, or changes, by comparing successive samples of it."""

import asyncio
import io
from collections.abc import Callable

from PIL import Image, ImageChops, ImageStat, UnidentifiedImageError

from mobiletest_automation.devices.port import Device
from mobiletest_automation.devices.watcher import Watcher
from mobiletest_automation.screen.elements import Element, Role
from mobiletest_automation.screen.fingerprint import ScreenState, screen_state
from mobiletest_automation.screen.outline import Outline

PAUSE_SECONDS = 0.2
# How long a screen may take to change after a tap.
CHANGE_SECONDS = 2.0
# How long an element may take to come to rest after a swipe, and the pause between two readings; as in Maestro.
REST_SECONDS = 3.0
REST_PAUSE_SECONDS = 0.1

# Largest mean difference (0 to 1) of screenshots that count as equal: a cursor may blink.
PICTURE_TOLERANCE = 0.005

# Screenshots are scaled to this size for the comparison.
COMPARED_SIZE = (90, 160)


async def wait_for_change(watcher: Watcher, before: ScreenState) -> bool:
    """Whether the screen changes within CHANGE_SECONDS."""
    return await watcher.until(lambda outline: screen_state(outline) != before or None, CHANGE_SECONDS) is not None


async def wait_until_at_rest(
    device: Device, watcher: Watcher, find: Callable[[Outline], Element | None]
) -> Element | None:
    """The element that `find` returns, once it is in the same place in two successive readings of the screen.

    After REST_SECONDS the element where it was last; None if it never was there.
    """
    deadline = device.timer.now() + REST_SECONDS
    last: Element | None = None
    while True:
        element = find(await watcher.look())
        if element is not None and last is not None and element.bounds == last.bounds:
            return element
        last = element or last
        if device.timer.now() >= deadline:
            return last
        await device.timer.sleep(REST_PAUSE_SECONDS)


async def wait_until_stable(device: Device, watcher: Watcher, seconds: float) -> bool:
    """Wait until two successive samples match; False if the screen is still changing after `seconds`."""
    deadline = device.timer.now() + seconds
    before = await _sample(device, watcher)
    while True:
        await device.timer.sleep(PAUSE_SECONDS)
        now = await _sample(device, watcher)
        if before is not None and now is not None and await _samples_match(before, now):
            return True
        if device.timer.now() >= deadline:
            return False
        before = now


ScreenSample = bytes | ScreenState | None


async def _sample(device: Device, watcher: Watcher) -> ScreenSample:
    """A screenshot of a real device, the state of a simulated one; None while it shows a progress indicator."""
    if not device.info.simulated:
        return await device.view.screenshot()
    outline = await watcher.look()
    in_progress = any(each.role is Role.PROGRESS for each in outline.visible)
    return None if in_progress else screen_state(outline)


async def _samples_match(one: ScreenSample, other: ScreenSample) -> bool:
    if isinstance(one, bytes) and isinstance(other, bytes):
        return one == other or await asyncio.to_thread(pictures_match, one, other)
    return one == other


def pictures_match(one: bytes, other: bytes) -> bool:
    """Whether two PNGs differ by no more than a blinking cursor; an unreadable one matches none."""
    try:
        first, second = _thumbnail(one), _thumbnail(other)
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError):
        return False
    difference: float = ImageStat.Stat(ImageChops.difference(first, second)).mean[0]
    return difference / 255 <= PICTURE_TOLERANCE


def _thumbnail(content: bytes) -> Image.Image:
    with Image.open(io.BytesIO(content)) as picture:
        return picture.convert("L").resize(COMPARED_SIZE)
