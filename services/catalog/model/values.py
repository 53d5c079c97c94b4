"""Values that all resources share: pages of lists, JSON, platforms, counts, and the error for an invalid value."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page:
    """Which page of a list: the number from 1, and how many items one has."""

    number: int
    size: int

    @property
    def offset(self) -> int:
        """How many items come before the page."""
        return (self.number - 1) * self.size


@dataclass(frozen=True, slots=True)
class ListPage(Generic[T]):
    """The items of one page, and how many there are on all pages."""

    items: Sequence[T]
    total: int


Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


class Platform(StrEnum):
    """Where an app runs."""

    IOS = "iOS"
    ANDROID = "Android"


@dataclass(frozen=True, slots=True)
class Counts:
    """Live apps per platform, tests, workflows and builds, and the bytes of all stored versions of tests; also a change
    of these numbers.
    """

    ios: int = 0
    android: int = 0
    tests: int = 0
    workflows: int = 0
    builds: int = 0
    test_bytes: int = 0

    @property
    def apps(self) -> int:
        """Apps of both platforms."""
        return self.ios + self.android

    def apps_of(self, platform: Platform | None) -> int:
        """The apps of one platform; None means of all."""
        if platform is None:
            return self.apps
        return self.ios if platform is Platform.IOS else self.android


def app_counts(platform: Platform, number: int = 1, *, builds: int = 0) -> Counts:
    """The change of the counts when so many apps of the platform, and builds of theirs, are added."""
    ios = platform is Platform.IOS
    return Counts(ios=number if ios else 0, android=0 if ios else number, builds=builds)


class InvalidValue(ValueError):
    """A value that breaks a rule of the domain.

    `field` is a dotted path from the root of the request ("test_ids[2]"), `kind` a short machine word ("missing",
    "value_error").
    """

    def __init__(self, field: str, message: str, kind: str = "value_error") -> None:
        super().__init__(message)
        self.field = field
        self.message = message
        self.kind = kind
