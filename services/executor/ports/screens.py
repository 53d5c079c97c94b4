"""Ports of what is kept of screens."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from mobiletest_automation.model.devices import Platform
from mobiletest_automation.stored_screens.past_bindings import StepPast
from services.chassis.byte_ranges import FilePart
from services.executor.model.screens import ScreenKey, StoredScreen

# The reason of errors about what is not stored, or not any more.
SCREEN_NOT_FOUND = "SCREEN_NOT_FOUND"


class Screens(Protocol):
    """Trees and pictures of all organisations."""

    async def find(self, key: ScreenKey) -> StoredScreen | None:
        """None if there is none, or none any more.

        Raises:
            Unavailable: the storage does not answer.
        """

    def read(self, screen: StoredScreen, part: FilePart | None = None) -> AsyncIterator[bytes]:
        """A part of it in chunks. Where its object is missing, the next run that has it stores it again.

        Raises:
            NotFound: it was deleted, or its object is missing.
            Unavailable: the storage does not answer.
        """


class ScreenBytes(Protocol):
    """How many bytes the screens of organisations have."""

    async def used_bytes(self, org_id: str) -> int:
        """The bytes as they count towards screen_bytes."""


class WrittenScreens(ScreenBytes, Protocol):
    """What workers write."""

    async def refresh(self, key: ScreenKey, day: date) -> bool:
        """Note that it was referred to on this day. Returns whether it is stored."""

    async def store(self, key: ScreenKey, content: bytes, content_type: str, day: date) -> None:
        """Store it, unless it is stored.

        Raises:
            Unavailable: the storage does not answer.
        """


class RetainedScreens(ScreenBytes, Protocol):
    """What the sweep deletes."""

    async def unused_since(self, day: date, limit: int) -> Sequence[StoredScreen]:
        """At most `limit` that were last referred to before this day."""

    async def organisations(self) -> Sequence[str]:
        """The ids of those that have screens."""

    async def least_used(self, org_id: str, excess: int, limit: int) -> Sequence[StoredScreen]:
        """Those of the organisation that were referred to least recently, until they count `excess` bytes together."""

    async def delete(self, screens: Sequence[StoredScreen]) -> int:
        """Delete them, but for those that were referred to since they were read. Returns how many were deleted."""


@dataclass(frozen=True, slots=True)
class BindingsKey:
    """Whose bindings are compared: those of a test on one platform and app, in the variant of a run."""

    org_id: str
    test_id: str
    platform: Platform | None
    app_id: str | None
    variant_id: str


class PastBindings(Protocol):
    """What the steps of tests have bound when they passed."""

    async def load(self, key: BindingsKey) -> tuple[StepPast, ...]:
        """Empty if the test has not passed yet, or not for long."""

    async def save(self, key: BindingsKey, steps: Sequence[StepPast], day: date) -> None:
        """Replace it; it is kept for DAYS_KEPT days from this one."""
