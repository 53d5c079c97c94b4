"""The builds, and the artifacts that they share."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Protocol

from services.catalog.model.builds import Build
from services.catalog.model.pages import Page


class Builds(Protocol):
    """The live builds of the live apps."""

    async def get(self, build_id: str) -> Build | None:
        """The build; None when it is unknown or deleted."""

    async def many(self, build_ids: Collection[str]) -> Sequence[Build]:
        """Those of the builds that exist, in any order."""

    async def page(self, app_id: str, page: Page) -> Sequence[Build]:
        """One page of the app's builds, newest first, ids breaking ties."""

    async def newest(self, app_id: str) -> Build | None:
        """The first of the app's list."""

    async def of_version(self, app_id: str, version: str) -> Build | None:
        """The app's build of the version."""

    async def of_versions(self, app_ids: Collection[str], versions: Collection[str]) -> Sequence[Build]:
        """The builds of any of these apps that have any of these versions."""

    async def add(self, build: Build) -> None:
        """Keep a new build. Taken: its id, or its version in the app, is in use."""

    async def replace(self, build: Build) -> None:
        """Keep a changed, perhaps deleted, build. Taken: its version in the app is in use."""

    async def of_app(self, app_id: str) -> Sequence[Build]:
        """All builds of the app."""

    async def delete_all(self, app_id: str, at: datetime) -> None:
        """Keep all builds of the app as deleted, each one revision later, however many there are."""


class Artifacts(Protocol):
    """Which artifacts are stored, and how many live builds use each."""

    async def expect(self, sha256: str, size: int) -> bool:
        """Announce that the artifact is about to be used; whether it is stored already.

        From now on `UnusedArtifacts` leaves it alone for a day, used or not. Aborted while it is just being removed.
        """

    async def stored(self, sha256: str) -> None:
        """Note that the artifact lies in the object store."""

    async def use(self, sha256: str, change: int) -> None:
        """Change the number of its uses by 1 or -1."""

    async def release(self, sha256s: Iterable[str]) -> None:
        """Take one use off for each mention, however many there are."""


class UnusedArtifacts(Protocol):
    """The artifacts of all organisations that nothing uses: of deleted builds, and of uploads that came to nothing."""

    async def claim(self, before: datetime) -> tuple[str, str] | None:
        """Organisation and SHA-256 of one that nobody has touched since then; it is the caller's to remove now."""

    async def forget(self, org_id: str, sha256: str) -> None:
        """Note that the claimed artifact has been removed."""
