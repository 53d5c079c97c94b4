"""Platforms of devices, and their driver sessions."""

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
