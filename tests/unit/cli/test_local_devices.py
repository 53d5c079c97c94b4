"""Which devices of a machine a run without a server finds, and which one it takes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mobiletest_automation.devices.port import DeviceFailure
from mobiletest_automation.model.failures import Category
from mobiletest_cli.errors import CliError
from mobiletest_cli.local_run.devices import APPIUM, CHROMEDRIVER, ChosenDevice, choose_device, find_devices
from mobiletest_cli.local_run.sessions import advise, running_hub

BROWSER = ChosenDevice("chrome", "Android", "http://hub", capabilities={"browserName": "chrome"})
HUB = ChosenDevice("http://hub", "Android", "http://hub")
UDID = "00008110-001A2B3C4D5E6F70"


@dataclass
class FakeMachine:
    """A machine with these programs, hubs and phones."""

    programs: Sequence[str] = ()
    hubs: Sequence[str] = ()
    phones: dict[str, str] = field(default_factory=dict)

    def find_program(self, name: str) -> str | None:
        return f"/bin/{name}" if name in self.programs else None

    def read_output(self, program: Sequence[str]) -> str:
        lines = [f"{serial}    {details}" for serial, details in self.phones.items()]
        return "\n".join(["List of devices attached", *lines, ""])

    def is_hub(self, url: str) -> bool:
        return url in self.hubs


PIXEL = {"8A1X0": "device usb:1-1 product:tokay model:Pixel_9 device:tokay transport_id:1"}


def test_the_only_phone_is_taken() -> None:
    device = choose_device(FakeMachine(["adb"], [APPIUM], {**PIXEL, "B": "unauthorized usb:1-2"}), None)
    assert (device.name, device.platform, device.hub) == ("8A1X0", "Android", APPIUM)
    assert device.capabilities["appium:udid"] == "8A1X0"
    assert device.capabilities["appium:automationName"] == "UiAutomator2"


@pytest.mark.parametrize("phones", [{}, {**PIXEL, "B": "device model:Other"}])
def test_without_exactly_one_phone_a_name_is_asked_for(phones: dict[str, str]) -> None:
    with pytest.raises(CliError, match="no device to run on") as refused:
        choose_device(FakeMachine(["adb"], [APPIUM], phones), None)
    assert "--device simulated" in str(refused.value.hint)
    assert all(serial in refused.value.message for serial in phones)


def test_a_phone_that_adb_cannot_use_says_what_to_do() -> None:
    machine = FakeMachine(["adb"], [APPIUM], {"B": "unauthorized usb:1-2", "C": "offline", "* daemon": "started"})
    listed = {device.name: device.missing for device in find_devices(machine)}
    assert listed["B"] == "allow USB debugging on its screen"
    assert "connect it again" in listed["C"]
    assert not any("*" in name for name in listed)
    for name in ("B", None):
        with pytest.raises(CliError, match="allow USB debugging"):
            choose_device(machine, name)


def test_a_missing_adb_is_said() -> None:
    with pytest.raises(CliError, match="adb, which finds phones and emulators, is not installed"):
        choose_device(FakeMachine(hubs=[APPIUM]), None)


def test_a_phone_needs_appium() -> None:
    with pytest.raises(CliError, match="no Appium server answers") as refused:
        choose_device(FakeMachine(["adb"], [], PIXEL), "8A1X0")
    assert "appium driver install" in str(refused.value.hint)


def test_a_udid_is_that_of_an_iphone() -> None:
    device = choose_device(FakeMachine(hubs=[APPIUM]), UDID)
    assert (device.platform, device.capabilities["appium:automationName"]) == ("iOS", "XCUITest")


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(CliError, match='there is no device "Pixel"'):
        choose_device(FakeMachine(["adb"], [APPIUM], PIXEL), "Pixel")


@pytest.mark.parametrize(
    ("name", "platform", "expected"),
    [("simulated", None, "Android"), ("simulated", "iOS", "iOS"), ("simulated:ios", None, "iOS")],
)
def test_a_simulated_device_has_a_platform(name: str, platform: str | None, expected: str) -> None:
    device = choose_device(FakeMachine(), name, platform)
    assert (device.platform, device.is_simulated) == (expected, True)


def test_a_platform_that_the_device_has_not_is_refused() -> None:
    with pytest.raises(CliError, match="--platform is Android"):
        choose_device(FakeMachine(), "simulated:ios", "Android")


def test_chrome_is_the_program_or_what_runs_already() -> None:
    assert choose_device(FakeMachine(["chromedriver"]), "chrome").driver == "/bin/chromedriver"
    assert choose_device(FakeMachine(hubs=[CHROMEDRIVER]), "chrome").hub == CHROMEDRIVER
    with pytest.raises(CliError, match="no chromedriver"):
        choose_device(FakeMachine(), "chrome")


def test_capabilities_are_texts_or_json() -> None:
    device = choose_device(FakeMachine(), "http://hub:4723", None, ["appium:locale=de", "appium:noReset=true"])
    assert device.capabilities["appium:locale"] == "de"
    assert device.capabilities["appium:noReset"] is True
    with pytest.raises(CliError, match="has no value"):
        choose_device(FakeMachine(), "http://hub:4723", None, ["appium:locale"])
    with pytest.raises(CliError, match="a simulated device has no capabilities"):
        choose_device(FakeMachine(), "simulated", None, ["appium:locale=de"])


def test_what_is_missing_is_said() -> None:
    listed = {device.name: device.missing for device in find_devices(FakeMachine(["adb"], [], PIXEL))}
    assert "start Appium" in listed["8A1X0"]
    assert "install chromedriver" in listed["chrome"]
    assert listed["simulated"] == ""


@pytest.mark.parametrize(
    ("device", "category", "message", "advice"),
    [
        (BROWSER, Category.DEVICE_UNAVAILABLE, "session not created: Chrome instance exited.", "--no-sandbox"),
        (HUB, Category.NETWORK_ERROR, "the hub cannot be reached", "the address of --device"),
        (HUB, Category.DEVICE_UNAVAILABLE, "no free device", ""),
    ],
)
def test_a_session_that_cannot_be_opened_says_what_to_do(
    device: ChosenDevice, category: Category, message: str, advice: str
) -> None:
    given = advise(device, DeviceFailure(category, message))
    assert advice in given
    assert bool(given) == bool(advice)


def test_a_chromedriver_that_cannot_be_started_is_said(tmp_path: Path) -> None:
    chosen = ChosenDevice("chrome", "Web", driver=str(tmp_path))
    with pytest.raises(CliError, match="cannot be started: Permission denied"), running_hub(chosen):
        pass
