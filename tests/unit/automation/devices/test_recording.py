"""Recordings of one picture for each step."""

import io

from PIL import Image

from mobiletest_automation.devices.port import DeviceFailure
from mobiletest_automation.devices.recording import FRAMES_LIMIT, FrameRecorder
from mobiletest_automation.model.failures import Category
from tests.unit.automation.pictures import png


class Screen:
    """Shows another color at each look, on a screen that turns; what is not a picture is shown as it is."""

    def __init__(self, *others: bytes | DeviceFailure, width: int = 360) -> None:
        self.others = list(others)
        self.width = width
        self.looks = 0

    async def screenshot(self) -> bytes:
        self.looks += 1
        if self.others:
            other = self.others.pop(0)
            if isinstance(other, DeviceFailure):
                raise other
            return other
        size = (self.width, self.width * 2) if self.looks % 2 else (self.width * 2, self.width)
        return png((self.looks * 83 % 256, self.looks * 47 % 256, 100), size)


async def frames(recorder: FrameRecorder) -> tuple[int, tuple[int, int]]:
    recording = await recorder.stop()
    assert recording is not None
    assert recording.content_type == "image/webp"
    opened = Image.open(io.BytesIO(recording.content))
    return getattr(opened, "n_frames", 1), opened.size


async def test_there_is_a_picture_for_the_start_each_step_and_the_end() -> None:
    recorder = FrameRecorder(Screen().screenshot)
    await recorder.add_frame()
    await recorder.start()
    await recorder.add_frame()
    assert await frames(recorder) == (3, (320, 640))
    await recorder.start()
    await recorder.start()
    assert (await frames(recorder))[0] == 2
    assert await recorder.stop() is None


async def test_pictures_are_limited() -> None:
    screen = Screen(width=10)
    recorder = FrameRecorder(screen.screenshot)
    await recorder.start()
    for _ in range(FRAMES_LIMIT + 5):
        await recorder.add_frame()
    assert (await frames(recorder))[0] == screen.looks == FRAMES_LIMIT


async def test_a_picture_that_cannot_be_taken_is_left_out() -> None:
    failure = DeviceFailure(Category.NETWORK_ERROR, "away")
    recorder = FrameRecorder(Screen(failure, b"no picture").screenshot)
    await recorder.start()
    await recorder.add_frame()
    assert (await frames(recorder))[0] == 1
    recorder = FrameRecorder(Screen(failure, failure).screenshot)
    await recorder.start()
    assert await recorder.stop() is None
