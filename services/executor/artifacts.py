"""Artifacts in the object store, under runs/<run>/<attempt>/<name>."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from services.chassis.byte_ranges import FilePart
from services.chassis.object_store import ObjectStore

# How long an attempt waits for the store; after that the artifact goes to the spool.
PUT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ArtifactKey:
    """Identifies an artifact; `str` gives its key in the object store."""

    run_id: str
    attempt: int
    name: str

    def __str__(self) -> str:
        return f"{run_prefix(self.run_id)}/{self.attempt}/{self.name}"

    @classmethod
    def parse(cls, text: str) -> "ArtifactKey | None":
        """The reverse of `str`; None for any other text."""
        match text.split("/"):
            case ["runs", run_id, attempt, name] if attempt.isascii() and attempt.isdecimal():
                return cls(run_id, int(attempt), name)
            case _:
                return None


def run_prefix(run_id: str) -> str:
    """The prefix of all artifacts of a run, including those of attempts that were never recorded."""
    return f"runs/{run_id}"


class ObjectStoreArtifacts:
    """The port `StoredArtifacts` on the object store."""

    def __init__(self, store: ObjectStore, *, put_seconds: float = PUT_SECONDS) -> None:
        self._store = store
        self._put_seconds = put_seconds

    async def put(self, run_id: str, attempt: int, name: str, content: bytes) -> None:
        async with asyncio.timeout(self._put_seconds):
            await self._store.put_bytes(str(ArtifactKey(run_id, attempt, name)), content)

    def read(self, run_id: str, attempt: int, name: str, part: FilePart | None = None) -> AsyncIterator[bytes]:
        return self._store.get_stream(str(ArtifactKey(run_id, attempt, name)), part)

    def object_key(self, run_id: str, attempt: int, name: str) -> str:
        return str(ArtifactKey(run_id, attempt, name))
