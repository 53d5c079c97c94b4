"""Whether a screen moves: compares what it shows now with what it showed a moment ago."""

import asyncio
import io

from PIL import Image, ImageChops, ImageStat, UnidentifiedImageError

from services.executor.automation.devices.port import Device
from services.executor.automation.devices.watcher import Watcher
from services.executor.automation.screen.elements import Role
from services.executor.automation.screen.fingerprint import ScreenState, screen_state

PAUSE_SECONDS = 0.2
PICTURE_TOLERANCE = 0.005
"""Pictures that differ by at most this share of black to white, on average, count as the same: a cursor may blink."""

COMPARED_SIZE = (90, 160)
"""Pictures are compared at this size."""


async def wait_for_change(watcher: Watcher, before: ScreenState, seconds: float) -> bool:
    """Whether the screen becomes another one within so many seconds."""
    return await watcher.until(lambda outline: screen_state(outline) != before or None, seconds) is not None


async def wait_until_stable(device: Device, watcher: Watcher, seconds: float) -> bool:
    """Wait until the screen stays as it is; False when it still moved after so many seconds."""
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
    """A picture of a real device; of a simulated one what is there, and None while that would be turning."""
    if not device.info.simulated:
        return await device.screenshot()
    outline = await watcher.look()
    turning = any(each.role is Role.PROGRESS for each in outline.visible)
    return None if turning else screen_state(outline)


async def _samples_match(one: ScreenSample, other: ScreenSample) -> bool:
    if one == other:
        return True
    if not (isinstance(one, bytes) and isinstance(other, bytes)):
        return False
    return await asyncio.to_thread(pictures_match, one, other)


def pictures_match(one: bytes, other: bytes) -> bool:
    """Whether two PNGs show the same but for a blinking cursor; what is no picture is only like itself."""
    try:
        first, second = _thumbnail(one), _thumbnail(other)
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError):
        return False
    difference: float = ImageStat.Stat(ImageChops.difference(first, second)).mean[0]
    return difference / 255 <= PICTURE_TOLERANCE


def _thumbnail(content: bytes) -> Image.Image:
    with Image.open(io.BytesIO(content)) as picture:
        return picture.convert("L").resize(COMPARED_SIZE)
