"""Videos of phones."""

import base64

import pytest

from mobiletest_automation.devices.port import NO_BUILD, DeviceInfo, Recording
from mobiletest_automation.devices.webdriver.drivers import HubSession, assemble_device
from mobiletest_automation.devices.webdriver.hub_connection import DriverError, HubUnreachable
from tests.fakes.webdriver import TARGET, FakeHub, fake_driver
from tests.unit.automation.devices.webdriver.phones import phone
from tests.unit.automation.pictures import png

START, STOP = "POST /appium/start_recording_screen", "POST /appium/stop_recording_screen"


PICTURE = base64.b64encode(png((255, 0, 0), (300, 600))).decode()


@pytest.mark.parametrize(
    ("platform", "options"),
    [
        ("android", {"timeLimit": "180", "bitRate": 1_000_000}),
        ("ios", {"timeLimit": "180", "videoType": "libx264"}),
    ],
)
async def test_a_phone_makes_a_video_of_limited_length(platform: str, options: dict[str, object]) -> None:
    hub = FakeHub({STOP: base64.b64encode(b"mp4").decode()})
    device = phone(platform, hub)
    await device.recorder.start()
    await device.begin_step()
    assert await device.recorder.stop() == Recording(b"mp4", "video/mp4")
    assert hub.orders() == [START, STOP]
    asked = dict(hub.asked[0][1]["options"])
    assert {name: asked.get(name) for name in options} == options
    assert await device.recorder.stop() is None


async def test_without_a_video_there_is_a_picture_for_each_step() -> None:
    hub = FakeHub({START: DriverError("unknown error", "ffmpeg is not installed"), "GET /screenshot": PICTURE})
    device = phone("ios", hub)
    await device.recorder.start()
    await device.begin_step()
    recording = await device.recorder.stop()
    assert recording is not None
    assert recording.content_type == "image/webp"
    assert hub.orders() == [START, *["GET /screenshot"] * 3]


async def test_a_browser_makes_pictures() -> None:
    hub = FakeHub({"GET /screenshot": PICTURE})
    info = DeviceInfo("phone-1", "android", simulated=False)
    device = assemble_device(HubSession(driver=fake_driver(hub), target=TARGET, info=info, build=NO_BUILD))
    await device.begin_step()
    await device.recorder.start()
    recording = await device.recorder.stop()
    assert recording is not None
    assert (recording.content_type, hub.orders()) == ("image/webp", ["GET /screenshot"] * 2)


async def test_an_answer_that_is_not_a_video() -> None:
    device = phone("android", FakeHub({STOP: "abc"}))
    await device.recorder.start()
    with pytest.raises(HubUnreachable, match="not Base64"):
        await device.recorder.stop()
