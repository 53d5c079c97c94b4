"""Gestures and keys as W3C actions, and the names of keys on each kind of device."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from mobiletest_automation.devices.port import script_error
from mobiletest_automation.devices.webdriver.hub_connection import Json
from mobiletest_automation.screen.elements import Point

K = TypeVar("K", str, int)

TAP_SECONDS = 0.05
BETWEEN_TAPS_SECONDS = 0.08
_SWIPE_STEPS = 10


def tap(point: Point, *, times: int = 1, pointer: str = "touch") -> list[Json]:
    """`pointer` is touch or mouse."""
    moves: list[Json] = [_move(point)]
    for number in range(times):
        moves += [_pause(BETWEEN_TAPS_SECONDS)] if number else []
        moves += [_DOWN, _pause(TAP_SECONDS), _UP]
    return [_finger(moves, pointer)]


def long_press(point: Point, seconds: float) -> list[Json]:
    return [_finger([_move(point), _DOWN, _pause(seconds), _UP])]


def swipe(start: Point, end: Point, seconds: float) -> list[Json]:
    """A stroke in small steps, because not every driver interpolates."""
    part = seconds / _SWIPE_STEPS
    path: list[Json] = [_move(_between(start, end, step / _SWIPE_STEPS), part) for step in range(1, _SWIPE_STEPS + 1)]
    return [_finger([_move(start), _DOWN, *path, _UP])]


def press_keys(values: Iterable[str]) -> list[Json]:
    """Each key is pressed and released."""
    strokes: list[Json] = []
    for value in values:
        strokes += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
    return [{"type": "key", "id": "keyboard", "actions": strokes}]


_DOWN: Json = {"type": "pointerDown", "button": 0}
_UP: Json = {"type": "pointerUp", "button": 0}


def _finger(actions: Sequence[Json], pointer: str = "touch") -> Json:
    return {"type": "pointer", "id": pointer, "parameters": {"pointerType": pointer}, "actions": list(actions)}


def _move(point: Point, seconds: float = 0.0) -> Json:
    return {
        "type": "pointerMove",
        "duration": round(seconds * 1000),
        "origin": "viewport",
        "x": round(point.x),
        "y": round(point.y),
    }


def _pause(seconds: float) -> Json:
    return {"type": "pause", "duration": round(seconds * 1000)}


def _between(start: Point, end: Point, share: float) -> Point:
    return Point(start.x + (end.x - start.x) * share, start.y + (end.y - start.y) * share)


BACKSPACE = "\ue003"
END = "\ue010"

# A browser's keyboard (W3C WebDriver, normalised key values). As on phones, delete deletes backwards.
WEB_KEYS: Mapping[str, str] = {
    "enter": "\ue007",
    "return": "\ue007",
    "search": "\ue007",
    "go": "\ue007",
    "tab": "\ue004",
    "space": " ",
    "backspace": BACKSPACE,
    "delete": BACKSPACE,
    "forward delete": "\ue017",
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

# Characters of a text that are typed as keys.
TYPED_KEYS: Mapping[str, str] = {"\n": WEB_KEYS["enter"], "\r": WEB_KEYS["enter"], "\t": WEB_KEYS["tab"]}

# android.view.KeyEvent's KEYCODE_*.
ANDROID_KEYS: Mapping[str, int] = {
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
    "lock": 276,
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
    "remote dpad up": 19,
    "remote dpad down": 20,
    "remote dpad left": 21,
    "remote dpad right": 22,
    "remote dpad center": 23,
    "remote media play pause": 85,
    "remote media stop": 86,
    "remote media next": 87,
    "remote media previous": 88,
    "remote media rewind": 89,
    "remote media fast forward": 90,
    "remote system navigation up": 280,
    "remote system navigation down": 281,
    "remote button a": 96,
    "remote button b": 97,
    "remote menu": 82,
    "tv input": 178,
    "tv input hdmi 1": 243,
    "tv input hdmi 2": 244,
    "tv input hdmi 3": 245,
}

# Buttons of `mobile: pressButton` of the XCUITest driver.
IOS_BUTTONS: Mapping[str, str] = {"home": "home", "volume up": "volumeup", "volume down": "volumedown"}

# Keys of an iPhone's keyboard, which are typed into the focused field.
IOS_KEYS: Mapping[str, str] = {
    "enter": "\n",
    "return": "\n",
    "search": "\n",
    "go": "\n",
    "tab": "\t",
    "space": " ",
    "backspace": "\b",
    "delete": "\b",
}


def plain_key(name: str) -> str:
    """The name of a key as the tables have it."""
    return " ".join(name.lower().replace("_", " ").replace("-", " ").split())


def find_key(keys: Mapping[str, K], name: str, device: str) -> K:
    """The key of that name; script_error if the device does not have it."""
    plain = plain_key(name)
    if plain not in keys:
        raise script_error(f"{device} has no key {name}; known keys: {', '.join(sorted(keys))}")
    return keys[plain]
