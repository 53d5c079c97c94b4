"""Whole files of builds on this disk, for hubs: fetched once, checked, dropped when others need the room."""

import asyncio
import hashlib
import os
import re
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from services.chassis import logs
from services.chassis.keyed_locks import KeyedLocks
from services.executor.automation.devices.port import DeviceFailure
from services.executor.model.failures import Category
from services.executor.worker.build_heads import download_failure

PART = ".part"

_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}$")

log = logs.get(__name__)


class BuildDownloads(Protocol):
    """Where whole files come from."""

    def download(self, org_id: str, build_id: str) -> AsyncIterator[bytes]:
        """A build's file in chunks."""


@dataclass(frozen=True, slots=True)
class BuildFile:
    """A build's file as the catalog knows it; `sha256` is in hexadecimal, `name` what it was uploaded as."""

    org_id: str
    build_id: str
    sha256: str
    name: str

    @property
    def kept_as(self) -> str:
        """Its name on disk: by content, with the ending that tells a hub what it is."""
        ending = _SUFFIX.search(self.name)
        return f"{self.sha256}{ending[0].lower() if ending else ''}"


class BuildFileCache:
    """A folder of files by their content, of at most `max_bytes`, parts of downloads included.

    Those that were used last stay longest, over restarts too; one that is in use always stays. The folder belongs to
    this process alone and is made when the first file is wanted.
    """

    def __init__(self, downloads: BuildDownloads, folder: Path, max_bytes: int) -> None:
        self._downloads = downloads
        self._folder = folder
        self._max_bytes = max_bytes
        self._kept: OrderedDict[Path, int] = OrderedDict()
        self._in_use: Counter[Path] = Counter()
        self._size = 0
        self._opened = asyncio.Lock()
        self._known = False
        self._locks: KeyedLocks[Path] = KeyedLocks()

    @contextmanager
    def using(self) -> Iterator["FilesInUse"]:
        """What is fetched inside the block stays until its end."""
        using = FilesInUse(self)
        try:
            yield using
        finally:
            self._in_use -= Counter(using.paths)

    async def fetch(self, file: BuildFile, using: "FilesInUse") -> Path:
        """Where the file lies. DeviceFailure: artifact_invalid, network_error, device_unavailable (no room for it)."""
        try:
            return await self._fetched(file, using)
        except OSError as error:
            raise DeviceFailure(Category.DEVICE_UNAVAILABLE, f"The worker cannot keep files: {error}.") from error

    async def _fetched(self, file: BuildFile, using: "FilesInUse") -> Path:
        await self._open()
        path = self._folder / file.kept_as
        using.paths.append(path)
        self._in_use[path] += 1
        async with self._locks[path]:
            if path not in self._kept or not path.exists():
                await self._download(file, path)
            self._kept.move_to_end(path)
            os.utime(path)
        return path

    async def _open(self) -> None:
        async with self._opened:
            if not self._known:
                for path, size in await asyncio.to_thread(_found_in, self._folder):
                    self._kept[path] = size
                    self._size += size
                self._known = True
                self._make_room(0)

    async def _download(self, file: BuildFile, path: Path) -> None:
        self._forget(path)
        part = self._folder / f"{uuid4().hex}{PART}"
        written = 0
        try:
            digest = hashlib.sha256()
            async for chunk in self._chunks(file):
                if not self._make_room(len(chunk)):
                    raise self._no_room(written + len(chunk))
                self._size += len(chunk)
                written += len(chunk)
                digest.update(chunk)
                await asyncio.to_thread(_append, part, chunk)
            if digest.hexdigest() != file.sha256.lower():
                message = f"The build's file is not what was uploaded: its SHA-256 is {digest.hexdigest()}."
                raise DeviceFailure(Category.ARTIFACT_INVALID, message)
            part.touch()
            part.replace(path)
        except BaseException:
            self._size -= written
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise
        self._kept[path] = written

    async def _chunks(self, file: BuildFile) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._downloads.download(file.org_id, file.build_id):
                yield chunk
        except Exception as error:
            raise download_failure(error) from error

    def _make_room(self, needed: int) -> bool:
        """Drop what was not used for longest; whether there is room then."""
        for path in list(self._kept):
            if self._size + needed <= self._max_bytes:
                break
            if not self._in_use[path]:
                path.unlink(missing_ok=True)
                self._forget(path)
        return self._size + needed <= self._max_bytes

    def _forget(self, path: Path) -> None:
        self._size -= self._kept.pop(path, 0)

    def _no_room(self, size: int) -> DeviceFailure:
        if size > self._max_bytes:
            message = f"The build's file is larger than the worker's room for files ({self._max_bytes} bytes)."
            return DeviceFailure(Category.ARTIFACT_INVALID, message)
        message = "The worker's room for files is taken by those of other runs."
        return DeviceFailure(Category.DEVICE_UNAVAILABLE, message)


class FilesInUse:
    """The files that one attempt uses."""

    def __init__(self, files: BuildFileCache) -> None:
        self._files = files
        self.paths: list[Path] = []

    async def file(self, file: BuildFile) -> Path:
        """As `AppFiles.fetch`."""
        return await self._files.fetch(file, self)


def _append(path: Path, chunk: bytes) -> None:
    with path.open("ab") as opened:
        opened.write(chunk)


def _found_in(folder: Path) -> list[tuple[Path, int]]:
    """What an earlier process left, the oldest first; what it had not finished is removed."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for path in folder.iterdir():
        if path.suffix == PART:
            path.unlink(missing_ok=True)
        elif path.is_file():
            stat = path.stat()
            found.append((stat.st_mtime, path, stat.st_size))
    return [(path, size) for _, path, size in sorted(found)]
