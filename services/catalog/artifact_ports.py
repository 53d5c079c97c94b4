"""What the use cases need to handle artifacts: their records, the object store, and an inspector."""

from collections.abc import AsyncIterator, Iterable
from datetime import datetime
from pathlib import Path
from typing import Protocol

from services.catalog.model.builds import Inspection, RejectedArtifact


class Artifacts(Protocol):
    """Which artifacts are stored, and how many live builds use each."""

    async def expect(self, sha256: str, size: int) -> bool:
        """Announce that the artifact is about to be used; whether it is stored already.

        From now on `UnusedArtifacts` leaves it alone for a day, used or not. Aborted while it is being removed.
        """

    async def stored(self, sha256: str) -> None:
        """Record that the artifact is in the object store."""

    async def use(self, sha256: str, change: int) -> None:
        """Change the number of its uses by 1 or -1."""

    async def release(self, sha256s: Iterable[str]) -> None:
        """Decrement the number of uses of each artifact, once for each time it is listed."""


class UnusedArtifacts(Protocol):
    """The artifacts of all organisations that nothing uses: of deleted builds, and of uploads that came to nothing."""

    async def claim(self, before: datetime) -> tuple[str, str] | None:
        """Organisation and SHA-256 of an artifact that was last used before then; the caller has to remove it."""

    async def forget(self, org_id: str, sha256: str) -> None:
        """Record that the claimed artifact has been removed."""


class Inspector(Protocol):
    """Looks into artifacts without trusting them."""

    async def inspect(self, path: Path) -> Inspection | RejectedArtifact:
        """What the artifact says of itself; never raises for what the artifact is."""


class Objects(Protocol):
    """Where artifacts are stored; `chassis.object_store.ObjectStore` is one. Unavailable: it is down."""

    async def put_stream(self, key: str, chunks: AsyncIterator[bytes]) -> object:
        """Store all bytes under the key, or nothing."""

    def get_stream(self, key: str) -> AsyncIterator[bytes]:
        """The bytes stored under the key. NotFound when there are none."""

    async def delete(self, key: str) -> None:
        """Remove the object stored under the key, if there is one."""
