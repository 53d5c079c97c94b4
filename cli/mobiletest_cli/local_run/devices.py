"""The devices of this machine: which there are, the one to run on, and what can be asked of the machine."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from mobiletest_cli.errors import USAGE, CliError

APPIUM = "http://127.0.0.1:4723"
CHROMEDRIVER = "http://127.0.0.1:9515"
SIMULATED, CHROME = "simulated", "chrome"
ANDROID, IOS = "Android", "iOS"
_PROGRAM_SECONDS = 10.0
_ANSWER_SECONDS = 2.0
_UDID = re.compile(r"[0-9a-fA-F]{40}|[0-9a-fA-F]{8}-[0-9a-fA-F]{16}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_AUTOMATION = {ANDROID: "UiAutomator2", IOS: "XCUITest"}
# The states of a phone in the list of adb, and what to do about them.
_STATES = {
    "device": "",
    "unauthorized": "allow USB debugging on its screen",
    "offline": "it is offline: connect it again, or restart it",
    "no": "this user may not use its USB port: adb devices says more",  # "no permissions (...)"
}
_START_APPIUM = "start Appium: appium (npm install -g appium, then appium driver install uiautomator2)"
_INSTALL_CHROMEDRIVER = f"install chromedriver for your version of Chrome, or start it at {CHROMEDRIVER}"


@dataclass(frozen=True)
class FoundDevice:
    """A device, or a program that devices need: what `--device` takes, and what is missing ("" if nothing is)."""

    name: str
    description: str
    missing: str = ""


@dataclass(frozen=True)
class ChosenDevice:
    """The device to run on. `hub` is the address of its WebDriver server; "" for a simulated one.

    `driver` is the program to start as its hub, if none runs.
    """

    name: str
    platform: str
    hub: str = ""
    driver: str = ""
    capabilities: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_simulated(self) -> bool:
        return not (self.hub or self.driver)

    @property
    def keeps_apps(self) -> bool:
        """Whether an app is there before a session begins."""
        return not (self.is_simulated or self.is_browser)

    @property
    def is_browser(self) -> bool:
        return "browserName" in self.capabilities


def find_devices(machine: Machine) -> list[FoundDevice]:
    """What there is, and what is missing."""
    has_appium = machine.is_hub(APPIUM)
    phones = [
        FoundDevice(phone.name, phone.description, phone.missing or ("" if has_appium else _START_APPIUM))
        for phone in _phones(machine)
    ]
    if not phones:
        missing = "connect a phone with USB debugging, or start an emulator"
        missing = missing if machine.find_program("adb") else "install Android's platform-tools, which have adb"
        phones = [FoundDevice("-", "Android devices (adb devices)", missing)]
    driver = machine.find_program("chromedriver")
    runs = machine.is_hub(CHROMEDRIVER)
    return [
        *phones,
        FoundDevice(APPIUM, "Appium", "" if has_appium else _START_APPIUM),
        FoundDevice(
            CHROME, driver or f"chromedriver at {CHROMEDRIVER}", "" if driver or runs else _INSTALL_CHROMEDRIVER
        ),
        FoundDevice(SIMULATED, "runs a model, not the app; also simulated:ios"),
    ]


def choose_device(
    machine: Machine, name: str | None, platform: str | None = None, capabilities: Sequence[str] = ()
) -> ChosenDevice:
    """The device of this name; without one the only phone. `capabilities` are NAME=VALUE, for the session.

    Raises:
        CliError: there is none, or something it needs is missing.
    """
    wanted = read_capabilities(capabilities)
    if name is None:
        name = _only_phone(machine)
    kind, _, chosen = name.partition(":")
    if kind == SIMULATED:
        chosen = {"": platform or ANDROID, "android": ANDROID, "ios": IOS}.get(chosen.lower(), "")
        if not chosen:
            raise CliError(f'--device "{name}" is no simulated device', USAGE, "simulated, or simulated:ios")
        if wanted:
            raise CliError("a simulated device has no capabilities", USAGE, "Leave out --capability")
        device = ChosenDevice(f"simulated-{chosen.lower()}", chosen)
    elif name == CHROME:
        device = _browser(machine, wanted)
    elif name.startswith(("http://", "https://")):
        device = ChosenDevice(name, platform or ANDROID, name, capabilities=_of_hub(platform or ANDROID, wanted))
    else:
        device = _phone(machine, name, wanted)
    if platform and device.platform != platform and not device.is_browser:
        raise CliError(f"--device {name} is for {device.platform}, and --platform is {platform}", USAGE)
    return device


def read_capabilities(texts: Sequence[str]) -> dict[str, Any]:
    """The capabilities of NAME=VALUE, whose value may be JSON.

    Raises:
        CliError: one has no name or value.
    """
    capabilities: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise CliError(f'--capability "{text}" has no value', USAGE, "Such as --capability appium:locale=de")
        try:
            capabilities[name] = json.loads(value)
        except ValueError:
            capabilities[name] = value
    return capabilities


def _phones(machine: Machine) -> list[FoundDevice]:
    """The devices of adb, also those that it cannot use."""
    adb = machine.find_program("adb")
    lines = machine.read_output([adb, "devices", "-l"]).splitlines() if adb else []
    rows = [line.split() for line in lines[1:]]
    return [FoundDevice(row[0], _model(row[2:]), _STATES[row[1]]) for row in rows if len(row) > 1 and row[1] in _STATES]


def _model(details: Sequence[str]) -> str:
    """The model in the details of adb: `model:Pixel_9 device:tokay`."""
    named = dict(detail.partition(":")[::2] for detail in details)
    return named.get("model", "Android device").replace("_", " ")


def _only_phone(machine: Machine) -> str:
    phones = _phones(machine)
    usable = [phone.name for phone in phones if not phone.missing]
    if len(usable) == 1:
        return usable[0]
    there_are = f"there are {', '.join(usable)}" if usable else "no phone or emulator is connected"
    if not usable and phones:
        there_are = "; ".join(f"{phone.name}: {phone.missing}" for phone in phones)
    elif not machine.find_program("adb"):
        there_are = "adb, which finds phones and emulators, is not installed"
    hint = "Name one: --device simulated (runs a model, not the app), SERIAL, chrome, or the URL of an Appium server"
    raise CliError(f"no device to run on: {there_are}", USAGE, hint)


def _phone(machine: Machine, name: str, wanted: Mapping[str, Any]) -> ChosenDevice:
    phones = {phone.name: phone.missing for phone in _phones(machine)}
    if phones.get(name):
        raise CliError(f"--device {name} cannot be used: {phones[name]}", USAGE)
    if name not in phones and not _UDID.fullmatch(name):
        names = ", ".join([*phones, CHROME, SIMULATED])
        raise CliError(
            f'there is no device "{name}"', USAGE, f"There are {names}; mobiletest devices --local says more"
        )
    if not machine.is_hub(APPIUM):
        raise CliError(f"no Appium server answers at {APPIUM}", USAGE, f"{_START_APPIUM[0].upper()}{_START_APPIUM[1:]}")
    platform = ANDROID if name in phones else IOS
    capabilities = {"appium:udid": name, **_of_hub(platform, wanted)}
    return ChosenDevice(name, platform, APPIUM, capabilities=capabilities)


def _of_hub(platform: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
    if "browserName" in wanted and not any(name.startswith("appium:") for name in wanted):
        return dict(wanted)
    return {"platformName": platform, "appium:automationName": _AUTOMATION[platform], **wanted}


def _browser(machine: Machine, wanted: Mapping[str, Any]) -> ChosenDevice:
    capabilities = {"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"}, **wanted}
    if driver := machine.find_program("chromedriver"):
        return ChosenDevice(CHROME, ANDROID, driver=driver, capabilities=capabilities)
    if machine.is_hub(CHROMEDRIVER):
        return ChosenDevice(CHROME, ANDROID, CHROMEDRIVER, capabilities=capabilities)
    hint = f"{_INSTALL_CHROMEDRIVER[0].upper()}{_INSTALL_CHROMEDRIVER[1:]}"
    raise CliError("there is no chromedriver", USAGE, hint)


class Machine(Protocol):
    """The machine on which the command runs."""

    def find_program(self, name: str) -> str | None:
        """The path of a program; None if it is not installed."""

    def read_output(self, program: Sequence[str]) -> str:
        """What a program prints; "" if it fails, or needs more than some seconds."""

    def is_hub(self, url: str) -> bool:
        """Whether a WebDriver server answers below the address."""


class ThisMachine:
    """The machine itself."""

    def find_program(self, name: str) -> str | None:
        return shutil.which(name)

    def read_output(self, program: Sequence[str]) -> str:
        try:
            ended = subprocess.run(program, capture_output=True, timeout=_PROGRAM_SECONDS, check=False)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return ended.stdout.decode(errors="replace") if ended.returncode == 0 else ""

    def is_hub(self, url: str) -> bool:
        import urllib.request  # for phones and browsers only

        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"{url.rstrip('/')}/status", timeout=_ANSWER_SECONDS) as answer:
                return answer.status == 200 and b'"value"' in answer.read(65536)
        except (OSError, ValueError):
            return False
