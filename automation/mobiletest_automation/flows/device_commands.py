"""The commands that act on apps and on the device itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from math import asin, cos, radians, sin, sqrt
from typing import Literal, TypeAlias

from mobiletest_automation.flows.commands import BaseCommand

Argument: TypeAlias = str | int | float | bool
Permission: TypeAlias = Literal["allow", "deny", "unset", "always", "inuse", "never", "limited"]
Orientation: TypeAlias = Literal["portrait", "landscape_left", "landscape_right", "upside_down"]
EARTH_RADIUS_METRES = 6_371_000.0
# The degrees by which a device is turned.
ROTATIONS: Mapping[Orientation, int] = {"portrait": 0, "landscape_left": 90, "landscape_right": 270, "upside_down": 180}


@dataclass(frozen=True, slots=True)
class _AppCommand(BaseCommand):
    app_id: str | None = None

    @property
    def subject(self) -> str:
        return self.app_id or ""


@dataclass(frozen=True, slots=True)
class LaunchApp(_AppCommand):
    """Start the app under test, or `app_id`; a running one is stopped first unless `stop_app` is false.

    Without `permissions` (None) all are granted; with them, those that are not named stay as they are.
    """

    clear_state: bool = False
    stop_app: bool = True
    permissions: tuple[tuple[str, Permission], ...] | None = None
    arguments: tuple[tuple[str, Argument], ...] = ()
    clear_keychain: bool = False


@dataclass(frozen=True, slots=True)
class StopApp(_AppCommand):
    pass


@dataclass(frozen=True, slots=True)
class KillApp(_AppCommand):
    """End an app as the system does when it needs memory: on Android only one in the background ends."""


@dataclass(frozen=True, slots=True)
class ClearState(_AppCommand):
    """Delete what the app has stored; a running app is stopped."""


@dataclass(frozen=True, slots=True)
class ClearKeychain(BaseCommand):
    """Delete the keychain of an iOS device; other devices have none."""


@dataclass(frozen=True, slots=True)
class SetPermissions(_AppCommand):
    """Change the named permissions of an app without starting it."""

    permissions: tuple[tuple[str, Permission], ...] = ()


@dataclass(frozen=True, slots=True)
class OpenLink(BaseCommand):
    """Open a link in the app that handles it, in the browser, or in the app under test without a question."""

    link: str
    in_browser: bool = False
    in_own_app: bool = False

    @property
    def subject(self) -> str:
        return self.link


@dataclass(frozen=True, slots=True)
class SetLocation(BaseCommand):
    """Degrees: latitude -90..90, longitude -180..180."""

    latitude: float
    longitude: float

    @property
    def subject(self) -> str:
        return f"{self.latitude:g}, {self.longitude:g}"


@dataclass(frozen=True, slots=True)
class SetOrientation(BaseCommand):
    orientation: Orientation

    @property
    def subject(self) -> str:
        return self.orientation.replace("_", " ")


class Mode(StrEnum):
    """A setting of the device that is on or off."""

    AIRPLANE = "airplane_mode"
    DARK = "dark_mode"

    def __str__(self) -> str:
        return self.value

    @property
    def words(self) -> str:
        return self.replace("_", " ")


@dataclass(frozen=True, slots=True)
class SetMode(BaseCommand):
    """Turn a mode on or off; without `on` to what it is not."""

    mode: Mode
    on: bool | None = None

    @property
    def subject(self) -> str:
        return "" if self.on is None else "enabled" if self.on else "disabled"


@dataclass(frozen=True, slots=True)
class AssertMode(BaseCommand):
    mode: Mode
    on: bool


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


@dataclass(frozen=True, slots=True)
class AddMedia(BaseCommand):
    """Add pictures and videos to the gallery of the device; the paths are relative to the flow."""

    files: tuple[str, ...]

    @property
    def subject(self) -> str:
        return ", ".join(self.files)


@dataclass(frozen=True, slots=True)
class OpenBrowser(BaseCommand):
    """Open a page in the browser of the device."""

    link: str

    @property
    def subject(self) -> str:
        return self.link
