"""Recordings of the screen: a picture for each step, where a device makes no videos."""

import asyncio
import io
from collections.abc import Awaitable, Callable
from contextlib import suppress

from mobiletest_automation.devices.port import DeviceFailure, Recording
from mobiletest_automation.screen.pictures import UnreadablePicture, read_picture

FRAMES_LIMIT = 120
FRAME_MILLISECONDS = 800
LONGEST_SIDE = 640
_QUALITY = 70


class FrameRecorder:
    """Makes an animation of one picture for each step, the first FRAMES_LIMIT of them."""

    def __init__(self, screenshot: Callable[[], Awaitable[bytes]]) -> None:
        self._screenshot = screenshot
        self._frames: list[bytes] | None = None

    async def start(self) -> None:
        """Forgets what was recorded before."""
        self._frames = []
        await self.add_frame()

    async def add_frame(self) -> None:
        """Does nothing if no recording has been started. A picture that cannot be taken is left out."""
        if self._frames is None or len(self._frames) >= FRAMES_LIMIT:
            return
        with suppress(DeviceFailure, UnreadablePicture):
            frame = await asyncio.to_thread(_shrink, await self._screenshot())
            self._frames.append(frame)

    async def stop(self) -> Recording | None:
        """None if there is not one picture."""
        await self.add_frame()
        frames, self._frames = self._frames, None
        if not frames:
            return None
        return Recording(await asyncio.to_thread(_animate, frames), "image/webp")


def _shrink(screenshot: bytes) -> bytes:
    """A JPEG, because recordings are held in memory."""
    picture = read_picture(screenshot)
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    content = io.BytesIO()
    picture.save(content, "JPEG", quality=_QUALITY)
    return content.getvalue()


def _animate(frames: list[bytes]) -> bytes:
    """A WebP of the size of the first frame."""
    pictures = map(read_picture, frames)
    first = next(pictures)
    content = io.BytesIO()
    first.save(
        content,
        "WEBP",
        save_all=True,
        append_images=(picture.resize(first.size) for picture in pictures),
        duration=FRAME_MILLISECONDS,
        quality=_QUALITY,
        method=0,
    )
    return content.getvalue()
