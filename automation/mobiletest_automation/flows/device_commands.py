"""Commands of the device itself: its location, orientation, modes and gallery."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from math import asin, cos, radians, sin, sqrt
from typing import Literal, TypeAlias

from mobiletest_automation.flows.app_commands import ClearKeychain
from mobiletest_automation.flows.commands import (
    WAIT_LIMIT_SECONDS,
    BaseCommand,
    CommandSpec,
    Reader,
    bare_reader,
    single_argument,
)
from mobiletest_automation.flows.nodes import Node, quote, read_optional, suggest
from mobiletest_automation.flows.selectors import COMMON_FIELDS
from mobiletest_automation.flows.text_commands import Back, HideKeyboard, PasteText
from mobiletest_automation.flows.touch_commands import Scroll

Orientation: TypeAlias = Literal["portrait", "landscape_left", "landscape_right", "upside_down"]

POINTS_LIMIT = 100
MEDIA_LIMIT = 20
MEDIA_ENDINGS = (".png", ".jpeg", ".jpg", ".gif", ".mp4")
EARTH_RADIUS_METRES = 6_371_000.0
# The degrees by which a device is turned.
ROTATIONS: Mapping[Orientation, int] = {"portrait": 0, "landscape_left": 90, "landscape_right": 270, "upside_down": 180}
# By their names without underscores.
_ORIENTATIONS: Mapping[str, Orientation] = {
    "portrait": "portrait",
    "landscape": "landscape_left",
    "landscapeleft": "landscape_left",
    "landscaperight": "landscape_right",
    "upsidedown": "upside_down",
}
_GEO_POINT = re.compile(r"\s*(-?\d{1,3}(?:\.\d{1,15})?)\s*,\s*(-?\d{1,3}(?:\.\d{1,15})?)\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class SetLocation(BaseCommand):
    """Degrees: latitude -90..90, longitude -180..180."""

    latitude: float
    longitude: float

    @property
    def subject(self) -> str:
        return f"{self.latitude:g}, {self.longitude:g}"


def _read_set_location(node: Node) -> BaseCommand:
    entries = node.fields(("latitude", "longitude", *COMMON_FIELDS), required=("latitude", "longitude"))
    return SetLocation(entries["latitude"].number(-90, 90), entries["longitude"].number(-180, 180))


@dataclass(frozen=True, slots=True)
class SetOrientation(BaseCommand):
    orientation: Orientation

    @property
    def subject(self) -> str:
        return self.orientation.replace("_", " ")


def _read_set_orientation(node: Node) -> BaseCommand:
    argument = single_argument(node, "orientation")
    word = argument.string().replace("_", "").strip().lower()
    if argument.pending:
        return SetOrientation("portrait")
    if word not in _ORIENTATIONS:
        names = ", ".join(dict.fromkeys(_ORIENTATIONS.values()))
        raise argument.error(f"expected one of {names}, not {quote(argument.raw)}")
    return SetOrientation(_ORIENTATIONS[word])


class Mode(StrEnum):
    """A setting of the device that is on or off."""

    AIRPLANE = "airplane_mode"
    DARK = "dark_mode"

    @property
    def words(self) -> str:
        return self.replace("_", " ")


@dataclass(frozen=True, slots=True)
class SetMode(BaseCommand):
    """Turn a mode on or off; without `on` to what it is not."""

    mode: Mode
    on: bool | None = None

    @property
    def action(self) -> str:
        return f"set_{self.mode}"

    @property
    def subject(self) -> str:
        return "" if self.on is None else "enabled" if self.on else "disabled"


def _mode_setter(mode: Mode) -> Reader:
    """Reads enabled or disabled, as the argument or as its `value`."""
    return lambda node: SetMode(mode, single_argument(node, "value").choice(("enabled", "disabled")) == "enabled")


@dataclass(frozen=True, slots=True)
class AssertMode(BaseCommand):
    mode: Mode
    on: bool

    @property
    def action(self) -> str:
        return f"assert_{self.mode}"


@dataclass(frozen=True, slots=True)
class GeoPoint:
    """Degrees: latitude -90..90, longitude -180..180."""

    latitude: float
    longitude: float

    def distance(self, other: "GeoPoint") -> float:
        """Metres along the great circle (haversine formula)."""
        first, second = radians(self.latitude), radians(other.latitude)
        east = radians(other.longitude - self.longitude)
        half_chord = sin((second - first) / 2) ** 2 + cos(first) * cos(second) * sin(east / 2) ** 2
        return 2 * EARTH_RADIUS_METRES * asin(min(1.0, sqrt(half_chord)))

    def between(self, other: "GeoPoint", share: float) -> "GeoPoint":
        """The point after this share of the way, along the shorter way around the earth."""
        east = _wrap(other.longitude - self.longitude)
        return GeoPoint(self.latitude + (other.latitude - self.latitude) * share, _wrap(self.longitude + east * share))


def _wrap(degrees: float) -> float:
    """The same longitude from -180 to 180."""
    return degrees if -180 <= degrees <= 180 else (degrees + 180) % 360 - 180


@dataclass(frozen=True, slots=True)
class Travel(BaseCommand):
    """Move from point to point, with `speed` in metres per second."""

    points: tuple[GeoPoint, ...]
    speed: float = 4.0

    @property
    def subject(self) -> str:
        return f"{len(self.points)} points at {self.speed:g} m/s"

    @property
    def declared_seconds(self) -> float:
        return sum(self.leg_seconds())

    def leg_seconds(self) -> tuple[float, ...]:
        """How long it takes from each point to the next."""
        return tuple(start.distance(end) / self.speed for start, end in pairwise(self.points))


def _read_travel(node: Node) -> BaseCommand:
    entries = node.fields(("points", "speed", *COMMON_FIELDS), required=("points",))
    points = entries["points"]
    if not 0 < len(points.items()) <= POINTS_LIMIT:
        raise points.error(f"expected 1 to {POINTS_LIMIT} points")
    speed = read_optional(entries, "speed", lambda value: 4.0 if value.pending else value.number(0.01, 100_000))
    travel = Travel(tuple(_read_geo_point(item) for item in points.items()), speed or 4.0)
    pending = any(node.pending for node in (*points.items(), *entries.values()))
    if travel.declared_seconds > WAIT_LIMIT_SECONDS and not pending:
        seconds = f"{travel.declared_seconds:.0f} s"
        raise points.error(
            f"this takes {seconds}, more than {WAIT_LIMIT_SECONDS} s: use a higher speed or fewer points"
        )
    return travel


def _read_geo_point(node: Node) -> GeoPoint:
    if node.pending:
        return GeoPoint(0, 0)
    match = _GEO_POINT.fullmatch(node.string(limit=100))
    if match is None or abs(float(match[1])) > 90 or abs(float(match[2])) > 180:
        raise node.error('expected a latitude and a longitude in degrees, such as "52.36, 4.88"')
    return GeoPoint(float(match[1]), float(match[2]))


@dataclass(frozen=True, slots=True)
class AddMedia(BaseCommand):
    """Add pictures and videos to the gallery of the device; the paths are relative to the flow."""

    files: tuple[str, ...]

    @property
    def subject(self) -> str:
        return ", ".join(self.files)


def _read_add_media(node: Node) -> BaseCommand:
    files = single_argument(node, "files")
    for item in files.items():
        if not item.pending and not item.string().lower().endswith(MEDIA_ENDINGS):
            raise item.error(f"expected a file that ends in {', '.join(MEDIA_ENDINGS)}, not {quote(item.raw)}")
    if not files.items():
        raise files.error("there are no files")
    return AddMedia(files.texts(limit=MEDIA_LIMIT, each=500))


def _read_action(node: Node) -> BaseCommand:
    """The command without arguments of this name."""
    name = node.string().strip()
    if node.pending:
        return Back()
    if name not in _ACTIONS:
        raise node.error(f"expected one of {', '.join(_ACTIONS)}, not {quote(node.raw)}{suggest(name, _ACTIONS)}")
    return _ACTIONS[name]


_ACTIONS: Mapping[str, BaseCommand] = {
    "back": Back(),
    "hideKeyboard": HideKeyboard(),
    "scroll": Scroll(),
    "clearKeychain": ClearKeychain(),
    "pasteText": PasteText(),
}
DeviceCommand: TypeAlias = SetLocation | SetOrientation | SetMode | AssertMode | Travel | AddMedia
DEVICE_COMMANDS = (
    CommandSpec("setLocation", _read_set_location),
    CommandSpec("travel", _read_travel, "at most one position a second"),
    CommandSpec("setOrientation", _read_set_orientation, "`LANDSCAPE_RIGHT` and `UPSIDE_DOWN` are refused on iOS"),
    CommandSpec(
        "setAirplaneMode",
        _mode_setter(Mode.AIRPLANE),
        "both: refused on iOS, where Maestro does nothing; a browser loses the network. A value must be exactly "
        "enabled or disabled",
    ),
    CommandSpec("toggleAirplaneMode", bare_reader(SetMode(Mode.AIRPLANE))),
    CommandSpec("setDarkMode", _mode_setter(Mode.DARK)),
    CommandSpec("toggleDarkMode", bare_reader(SetMode(Mode.DARK))),
    CommandSpec("assertDarkMode", bare_reader(AssertMode(Mode.DARK, on=True))),
    CommandSpec("assertLightMode", bare_reader(AssertMode(Mode.DARK, on=False))),
    CommandSpec(
        "addMedia",
        _read_add_media,
        "refused in browsers, where Maestro does nothing",
        simulated="no effect",
        chromium="refused",
    ),
    CommandSpec("action", _read_action),
)
