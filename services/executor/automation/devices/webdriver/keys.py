"""Names of keys and their W3C characters, Android key codes, and iPhone buttons."""

from collections.abc import Mapping
from typing import TypeVar

from services.executor.automation.devices.port import DeviceFailure
from services.executor.model.failures import Category

K = TypeVar("K", str, int)

BACKSPACE = "\ue003"
DELETE = "\ue017"
END = "\ue010"

WEB: Mapping[str, str] = {
    "enter": "\ue007",
    "return": "\ue007",
    "search": "\ue007",
    "go": "\ue007",
    "tab": "\ue004",
    "space": " ",
    "backspace": BACKSPACE,
    "delete": BACKSPACE,
    "forward delete": DELETE,
    "escape": "\ue00c",
    "up": "\ue013",
    "down": "\ue015",
    "left": "\ue012",
    "right": "\ue014",
    "page up": "\ue00e",
    "page down": "\ue00f",
    "home": "\ue011",
    "end": END,
}
"""A browser's keyboard (W3C WebDriver, normalised key values). As on phones, delete deletes backwards."""

TYPED: Mapping[str, str] = {"\n": WEB["enter"], "\r": WEB["enter"], "\t": WEB["tab"]}
"""Characters of a text that are typed as keys."""

ANDROID: Mapping[str, int] = {
    "home": 3,
    "back": 4,
    "up": 19,
    "down": 20,
    "left": 21,
    "right": 22,
    "center": 23,
    "volume up": 24,
    "volume down": 25,
    "power": 26,
    "lock": 26,
    "camera": 27,
    "tab": 61,
    "space": 62,
    "enter": 66,
    "return": 66,
    "go": 66,
    "backspace": 67,
    "delete": 67,
    "menu": 82,
    "search": 84,
    "play pause": 85,
    "media stop": 86,
    "media next": 87,
    "media previous": 88,
    "page up": 92,
    "page down": 93,
    "escape": 111,
    "forward delete": 112,
    "end": 123,
    "volume mute": 164,
    "recent apps": 187,
}
"""android.view.KeyEvent's KEYCODE_*."""

IOS_BUTTONS: Mapping[str, str] = {"home": "home", "volume up": "volumeup", "volume down": "volumedown"}
"""Buttons of `mobile: pressButton` of the XCUITest driver."""

IOS_TYPED: Mapping[str, str] = {
    "enter": "\n",
    "return": "\n",
    "search": "\n",
    "go": "\n",
    "tab": "\t",
    "space": " ",
    "backspace": "\b",
    "delete": "\b",
}
"""Keys of an iPhone's keyboard, which are typed into the focused field."""


def find_key(keys: Mapping[str, K], name: str, device: str) -> K:
    """The key of that name; script_error if the device does not have it."""
    plain = " ".join(name.lower().replace("_", " ").replace("-", " ").split())
    if plain not in keys:
        raise DeviceFailure(Category.SCRIPT_ERROR, f"{device} has no key {name}; known keys: {', '.join(sorted(keys))}")
    return keys[plain]
