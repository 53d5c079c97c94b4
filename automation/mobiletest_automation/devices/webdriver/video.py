"""Videos of phones, by the endpoint that Appium's drivers share."""

import base64
from collections.abc import Mapping

from mobiletest_automation.devices.port import Recording
from mobiletest_automation.devices.recording import FrameRecorder
from mobiletest_automation.devices.webdriver.driver_session import DriverSession
from mobiletest_automation.devices.webdriver.hub_connection import DriverError, HubUnreachable, Json

# A video ends after this time; with the bit rate, that bounds its size. Android makes longer ones of parts, which its
# driver cannot join without ffmpeg.
VIDEO_SECONDS = 180
BIT_RATE = 1_000_000
START_SECONDS = 60.0
STOP_SECONDS = 120.0

ANDROID_VIDEO: Mapping[str, Json] = {"timeLimit": str(VIDEO_SECONDS), "bitRate": BIT_RATE, "forceRestart": True}
IOS_VIDEO: Mapping[str, Json] = {
    "timeLimit": str(VIDEO_SECONDS),
    "videoType": "libx264",
    "videoQuality": "low",
    "pixelFormat": "yuv420p",
    "forceRestart": True,
}


class VideoRecorder:
    """Makes videos, or pictures where the driver refuses: without ffmpeg on the hub, or on phones that protect it."""

    def __init__(self, driver: DriverSession, options: Mapping[str, Json]) -> None:
        self._driver = driver
        self._options = options
        self._frames = FrameRecorder(driver.screenshot)
        self._recording = False

    async def start(self) -> None:
        try:
            options = {"options": dict(self._options)}
            await self._driver.post("/appium/start_recording_screen", options, seconds=START_SECONDS)
        except DriverError:
            await self._frames.start()
        else:
            self._recording = True

    async def add_frame(self) -> None:
        await self._frames.add_frame()

    async def stop(self) -> Recording | None:
        if not self._recording:
            return await self._frames.stop()
        self._recording = False
        video = await self._driver.post("/appium/stop_recording_screen", {"options": {}}, seconds=STOP_SECONDS)
        try:
            content = base64.b64decode(video if isinstance(video, str) else "")
        except ValueError as error:
            raise HubUnreachable("the driver's video is not Base64") from error
        return Recording(content, "video/mp4") if content else None
