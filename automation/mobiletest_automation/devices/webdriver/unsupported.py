"""What each kind of device behind a hub cannot do, so that a test can be refused before its first step."""

import re

from mobiletest_automation.devices.port import Unsupported
from mobiletest_automation.devices.webdriver.actions import ANDROID_KEYS, IOS_BUTTONS, IOS_KEYS, WEB_KEYS
from mobiletest_automation.devices.webdriver.ios import NO_AIRPLANE_MODE
from mobiletest_automation.flows.app_commands import ClearKeychain, LaunchApp, SetPermissions
from mobiletest_automation.flows.commands import BaseCommand
from mobiletest_automation.flows.device_commands import AddMedia, AssertMode, Mode, SetMode, SetOrientation
from mobiletest_automation.flows.text_commands import PressKey

_SIMULATOR = re.compile(r"[0-9A-F]{8}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{12}", re.IGNORECASE | re.ASCII)
_IPHONE = re.compile(r"[0-9a-f]{40}|[0-9A-F]{8}-[0-9A-F]{16}", re.IGNORECASE | re.ASCII)
_SIMULATOR_BUTTONS = frozenset({"home"})


def unsupported_on_android(command: BaseCommand) -> str:
    match command:
        case PressKey(key):
            return _without_key(key, (*ANDROID_KEYS,), "an Android phone")
        case LaunchApp(permissions=permissions) | SetPermissions(permissions=permissions):
            is_limited = any(answer == "limited" for _, answer in permissions or ())
            return "Android cannot give limited access: use allow or deny" if is_limited else ""
        case _:
            return ""


def unsupported_on_ios(udid: str, *, shared: bool) -> Unsupported:
    """By the id of the device, from which simulators and real devices can be told apart."""
    simulator, real = bool(_SIMULATOR.fullmatch(udid)), bool(_IPHONE.fullmatch(udid))

    def unsupported(command: BaseCommand) -> str:
        match command:
            case PressKey(key):
                buttons = [name for name in IOS_BUTTONS if not simulator or name in _SIMULATOR_BUTTONS]
                return _without_key(key, (*IOS_KEYS, *buttons, "back", "lock"), "an iPhone")
            case SetOrientation("landscape_right" | "upside_down"):
                return "iOS devices can only be turned to portrait and landscape_left"
            case SetMode(Mode.AIRPLANE) | AssertMode(Mode.AIRPLANE):
                return NO_AIRPLANE_MODE
            case AddMedia() if real:
                return "media can be added to iOS simulators, not to real devices"
            case AddMedia() if shared:
                return _LASTING_MEDIA
            case ClearKeychain() | LaunchApp(clear_keychain=True) if real:
                return "the keychain of a real iOS device cannot be cleared, only that of a simulator"
            case SetPermissions() if real:
                return _NO_PERMISSIONS
            case LaunchApp(permissions=permissions) if real and permissions:
                return _NO_PERMISSIONS
            case _:
                return ""

    return unsupported


_LASTING_MEDIA = (
    "media cannot be removed from a simulator again, so it needs a device pool of your organisation: ask the operator"
)
_NO_PERMISSIONS = (
    "permissions can be set in iOS simulators, not on real devices: answer the system's questions in the test"
)


def unsupported_in_browser(command: BaseCommand) -> str:
    match command:
        case PressKey(key):
            return _without_key(key, (*WEB_KEYS, "back"), "a browser")
        case AddMedia():
            return "a browser has no gallery: use the page's own upload"
        case _:
            return ""


def _without_key(key: str, known: tuple[str, ...], device: str) -> str:
    return "" if key in known else f"{device} has no key {key}; known keys: {', '.join(sorted(known))}"
