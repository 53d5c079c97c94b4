"""A bounded folder where artifacts wait while the object store is unavailable: one file each, named after its key."""

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from time import time
from urllib.parse import quote, unquote
from uuid import uuid4

from services.chassis.errors import Unavailable
from services.executor import telemetry

_SUFFIX = ".artifact"
_HALF_WRITTEN_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class SpooledArtifact:
    """A waiting artifact; `since` is when it was spooled, in seconds of the machine's clock."""

    key: str
    path: Path
    size: int
    since: float

    def age(self) -> float:
        """How long it has waited, in seconds."""
        return max(0.0, time() - self.since)


class ArtifactSpool:
    """Survives its process. Several processes may share a folder, because every operation on a file is idempotent.

    The folder is created with the first artifact, readable only by this user.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._used: int | None = None
        self._adding = asyncio.Lock()

    async def add(self, key: str, content: bytes) -> None:
        """Keep a file until it is stored.

        Raises:
            Unavailable: the spool is full or the folder is not writable.
        """
        try:
            async with self._adding:
                await asyncio.to_thread(self._add, key, content)
        except OSError as error:
            raise Unavailable(f"The spool is not writable: {error.strerror}", reason="SPOOL_UNAVAILABLE") from error

    def _add(self, key: str, content: bytes) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_owned_by(self._folder, os.getuid()):
            raise PermissionError(1, f"{self._folder} is not owned by this user")
        used = self._measure(self._list()) if self._used is None else self._used
        if used + len(content) > self._max_bytes:
            raise Unavailable(f"The spool is full: it holds at most {self._max_bytes} bytes", reason="SPOOL_FULL")
        part = self._folder / f"{uuid4()}.part"
        try:
            part.write_bytes(content)
            part.rename(self._folder / (quote(key, safe="") + _SUFFIX))
            self._used = used + len(content)
        finally:
            part.unlink(missing_ok=True)

    async def waiting(self) -> list[SpooledArtifact]:
        """Waiting artifacts, oldest first."""
        items = await asyncio.to_thread(self._clean_up)
        telemetry.spool_bytes.set(self._measure(items))
        return items

    def _measure(self, items: list[SpooledArtifact]) -> int:
        """The total size, which is only incremented between two scans of the folder."""
        self._used = sum(item.size for item in items)
        return self._used

    def _clean_up(self) -> list[SpooledArtifact]:
        """Waiting artifacts, after removing files that killed processes left half written."""
        if not is_owned_by(self._folder, os.getuid()):
            return []
        for part in self._folder.glob("*.part"):
            with suppress(FileNotFoundError):
                if time() - part.stat().st_mtime > _HALF_WRITTEN_SECONDS:
                    part.unlink()
        return self._list()

    def _list(self) -> list[SpooledArtifact]:
        try:
            entries = list(os.scandir(self._folder))
        except FileNotFoundError:
            return []
        read_entries = (_read_entry(entry) for entry in entries if entry.name.endswith(_SUFFIX))
        return sorted((item for item in read_entries if item is not None), key=lambda item: item.since)

    async def remove(self, item: SpooledArtifact) -> None:
        await asyncio.to_thread(item.path.unlink, missing_ok=True)


def _read_entry(entry: "os.DirEntry[str]") -> SpooledArtifact | None:
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not S_ISREG(status.st_mode):
        return None
    key = unquote(entry.name.removesuffix(_SUFFIX))
    return SpooledArtifact(key, Path(entry.path), status.st_size, status.st_mtime)


def is_owned_by(folder: Path, user: int) -> bool:
    """Whether the folder exists and belongs to this user or to root (as mounted volumes do).

    The default folder lies where other users can write; a folder that another user created there is not used.
    """
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return False
    return S_ISDIR(status.st_mode) and status.st_uid in (user, 0)
