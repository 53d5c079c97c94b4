"""Files: looking into them, and keeping them for good."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

from services.catalog.model.artifacts import Hostile, Inspection


class Inspector(Protocol):
    """Looks into artifacts without trusting them."""

    async def inspect(self, path: Path) -> Inspection | Hostile:
        """What the artifact says of itself; never raises for what the artifact is."""


class Objects(Protocol):
    """Where artifacts lie for good; `chassis.objects.ObjectStore` is one. Unavailable: it is down."""

    async def put_stream(self, key: str, chunks: AsyncIterator[bytes]) -> object:
        """Store the bytes under the key, wholly or not at all."""

    def get_stream(self, key: str) -> AsyncIterator[bytes]:
        """The bytes stored under the key. NotFound when there are none."""

    async def delete(self, key: str) -> None:
        """Remove what is stored under the key, if anything is."""
