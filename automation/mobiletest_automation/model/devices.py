"""Platforms of devices, their driver sessions, and what has to be cleaned up after a session."""

from dataclasses import dataclass
from enum import StrEnum


class Platform(StrEnum):
    """The platform of a device."""

    IOS = "iOS"
    ANDROID = "Android"


@dataclass(frozen=True, slots=True)
class Session:
    """A driver session: the URL of its hub, and its id there."""

    hub: str
    id: str


class DeviceSetting(StrEnum):
    """What tests may change on a device beyond the app."""

    AIRPLANE_MODE = "airplane_mode"
    DARK_MODE = "dark_mode"
    ORIENTATION = "orientation"
    LOCATION = "location"
    MEDIA = "media"


@dataclass(frozen=True, slots=True)
class DeviceChange:
    """What is to be put back: the value of a setting before it was changed, as the driver says it.

    Of a location there is none, and of media it is the path of the file that was added.
    """

    setting: DeviceSetting
    before: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UncleanDevice:
    """A device since its session was opened, because the session may leave apps and texts on it.

    `hub`, `device` and `session` are the URL of the hub, the device's id there and the session's. `installed_before`
    are the apps that stay; None when the driver cannot list them, so that only `apps`, the known ones, are removed.
    A device that is `dedicated` to its organisation keeps everything but the `changes` until another one gets it.
    """

    hub: str
    device: str
    session: str
    platform: str
    org_id: str
    dedicated: bool
    apps: frozenset[str] = frozenset()
    installed_before: frozenset[str] | None = None
    changes: tuple[DeviceChange, ...] = ()
