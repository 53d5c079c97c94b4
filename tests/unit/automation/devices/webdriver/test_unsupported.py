"""What each kind of device says that it cannot do."""

import pytest

from mobiletest_automation.devices.port import AppUnderTest, DeviceInfo
from mobiletest_automation.devices.webdriver.drivers import HubSession, assemble_device
from mobiletest_automation.devices.webdriver.hub_connection import Json
from mobiletest_automation.flows.loader import parse_flow
from tests.fakes.webdriver import TARGET, FakeHub, fake_driver
from tests.unit.automation.devices.webdriver.phones import APP, AUTOMATION

REAL, SIMULATOR = "00008030-001A35E40212802E", "7C1F0B6E-3B1B-4F0A-9C55-2A6B1F4E9D11"


@pytest.mark.parametrize(
    ("platform", "udid", "step", "reason"),
    [
        ("ios", REAL, "clearKeychain", "keychain of a real iOS device"),
        ("ios", SIMULATOR, "clearKeychain", ""),
        ("ios", REAL, {"launchApp": {"clearKeychain": True}}, "keychain of a real iOS device"),
        ("ios", REAL, {"setPermissions": {"permissions": {"camera": "allow"}}}, "can be set in iOS simulators"),
        ("ios", REAL, {"launchApp": {"permissions": {"camera": "allow"}}}, "can be set in iOS simulators"),
        ("ios", REAL, "launchApp", ""),
        ("ios", SIMULATOR, {"launchApp": {"permissions": {"camera": "allow"}}}, ""),
        ("ios", "", "clearKeychain", ""),
        ("ios", REAL, {"pressKey": "Volume Up"}, ""),
        ("ios", SIMULATOR, {"pressKey": "Volume Up"}, "an iPhone has no key volume up"),
        ("ios", REAL, {"pressKey": "Remote Dpad Up"}, "an iPhone has no key remote dpad up"),
        ("ios", REAL, {"setOrientation": "UPSIDE_DOWN"}, "only be turned to portrait and landscape_left"),
        ("android", "emulator-5554", "clearKeychain", ""),
        ("android", "emulator-5554", {"pressKey": "Remote Dpad Up"}, ""),
        ("android", "emulator-5554", {"launchApp": {"permissions": {"photos": "limited"}}}, "limited access"),
        ("ios", REAL, {"setAirplaneMode": "enabled"}, "airplane mode of an iOS device"),
        ("ios", REAL, "toggleAirplaneMode", "airplane mode of an iOS device"),
        ("ios", REAL, "toggleDarkMode", ""),
        ("ios", REAL, {"addMedia": ["a.png"]}, "not to real devices"),
        ("ios", SIMULATOR, {"addMedia": ["a.png"]}, ""),
        ("android", "emulator-5554", {"addMedia": ["a.png"]}, ""),
        ("browser", "", {"addMedia": ["a.png"]}, "a browser has no gallery"),
        ("browser", "", "toggleAirplaneMode", ""),
        ("browser", "", {"pressKey": "Power"}, "a browser has no key power"),
        ("browser", "", {"pressKey": "Enter"}, ""),
    ],
)
def test_a_device_says_what_it_cannot_do(platform: str, udid: str, step: object, reason: str) -> None:
    browser = platform == "browser"
    capabilities: dict[str, Json] = {} if browser else {"automationName": AUTOMATION[platform], "udid": udid}
    info = DeviceInfo("phone-1", "android" if browser else platform, simulated=False, browser=browser)
    driver, build = fake_driver(FakeHub(), capabilities), AppUnderTest(package_name=APP)
    device = assemble_device(HubSession(driver=driver, target=TARGET, info=info, build=build))
    said = device.unsupported(parse_flow([step]).steps[0].command)
    assert said == "" if not reason else reason in said
