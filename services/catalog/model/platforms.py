"""The two platforms, spelt as the contract spells them."""

from enum import StrEnum


class Platform(StrEnum):
    """Where an app runs."""

    IOS = "iOS"
    ANDROID = "Android"
