"""Files of builds and tests on local disk: downloaded once, verified, and evicted when space is needed."""

import asyncio
import hashlib
import os
import re
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TypeVar
from uuid import uuid4

from mobiletest_automation.devices.port import DeviceFailure
from mobiletest_automation.model.failures import Category
from services.chassis import logs
from services.chassis.error_status import to_domain_error
from services.chassis.errors import DeadlineExceeded, NotFound, Unavailable
from services.chassis.keyed_locks import KeyedLocks
from services.chassis.retry import backoff_seconds, retry_transient
from services.executor.ports.executions import Catalog

PARTIAL_SUFFIX = ".part"
# The longest pause between two reads from a catalog that is unavailable.
RETRY_SECONDS = 5.0

T = TypeVar("T")

log = logs.get(__name__)

_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}$")


@dataclass(frozen=True, slots=True)
class CatalogFile:
    """A file as the catalog describes it: `sha256` in hexadecimal, `name` as it was uploaded.

    It is that of a build, or without one a picture or video of a test.
    """

    org_id: str
    sha256: str
    name: str
    build_id: str | None = None

    @property
    def local_name(self) -> str:
        """Its name on disk: the hash, with the suffix that tells a hub the file's type."""
        suffix = _SUFFIX.search(self.name)
        return f"{self.sha256}{suffix[0].lower() if suffix else ''}"

    @property
    def title(self) -> str:
        """What messages call it."""
        return "build's file" if self.build_id is not None else f"file {self.name}"


FetchFile = Callable[[CatalogFile], Awaitable[Path]]


class FileCache:
    """A folder of at most `max_bytes`, unfinished downloads included; evicts the least recently used file.

    Files in use are never evicted; files survive a restart. The folder belongs to this process alone and is created
    with the first file.
    """

    def __init__(self, catalog: Catalog, folder: Path, max_bytes: int) -> None:
        self._catalog = catalog
        self._folder = folder
        self._max_bytes = max_bytes
        self._sizes: OrderedDict[Path, int] = OrderedDict()
        self._in_use: Counter[Path] = Counter()
        self._size = 0
        self._opening = asyncio.Lock()
        self._opened = False
        self._locks: KeyedLocks[Path] = KeyedLocks()

    @contextmanager
    def open_files(self, until: float) -> Iterator[FetchFile]:
        """Yields a function that fetches files, which stay until the end of the block.

        It waits for an unavailable catalog until this time of `monotonic()`.

        Raises:
            DeviceFailure: it cannot be had (artifact_invalid, network_error), or stored (device_unavailable).
        """
        paths: list[Path] = []

        async def fetch(file: CatalogFile) -> Path:
            try:
                return await wait_for_catalog(lambda: self._fetch(file, paths), until, file.title)
            except OSError as error:
                raise DeviceFailure(Category.DEVICE_UNAVAILABLE, f"The worker cannot store files: {error}.") from error

        try:
            yield fetch
        finally:
            self._in_use -= Counter(paths)

    async def _fetch(self, file: CatalogFile, paths: list[Path]) -> Path:
        await self._open()
        path = self._folder / file.local_name
        paths.append(path)
        self._in_use[path] += 1
        async with self._locks[path]:
            if path not in self._sizes or not path.exists():
                await self._download(file, path)
            self._sizes.move_to_end(path)
            os.utime(path)
        return path

    async def _open(self) -> None:
        async with self._opening:
            if not self._opened:
                for path, size in await asyncio.to_thread(_scan, self._folder):
                    self._sizes[path] = size
                    self._size += size
                self._opened = True
                self._make_room(0)

    async def _download(self, file: CatalogFile, path: Path) -> None:
        self._forget(path)
        part = self._folder / f"{uuid4().hex}{PARTIAL_SUFFIX}"
        written = 0
        try:
            digest = hashlib.sha256()
            async for chunk in self._chunks(file):
                if not self._make_room(len(chunk)):
                    raise self._no_room(file, written + len(chunk))
                self._size += len(chunk)
                written += len(chunk)
                digest.update(chunk)
                await asyncio.to_thread(_append, part, chunk)
            _verify(digest.hexdigest(), file)
            part.touch()
            part.replace(path)
        except BaseException:
            self._size -= written
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise
        self._sizes[path] = written

    def _chunks(self, file: CatalogFile) -> AsyncIterator[bytes]:
        if file.build_id is None:
            return self._catalog.download_test_file(file.org_id, file.sha256)
        return self._catalog.download(file.org_id, file.build_id)

    def _make_room(self, needed: int) -> bool:
        """Evict the least recently used files; returns whether there is enough space then."""
        for path in list(self._sizes):
            if self._size + needed <= self._max_bytes:
                break
            if not self._in_use[path]:
                path.unlink(missing_ok=True)
                self._forget(path)
        return self._size + needed <= self._max_bytes

    def _forget(self, path: Path) -> None:
        self._size -= self._sizes.pop(path, 0)

    def _no_room(self, file: CatalogFile, size: int) -> DeviceFailure:
        if size > self._max_bytes:
            message = f"The {file.title} is larger than the worker's file cache ({self._max_bytes} bytes)."
            return DeviceFailure(Category.ARTIFACT_INVALID, message)
        message = "The worker's file cache is full of files that other runs use."
        return DeviceFailure(Category.DEVICE_UNAVAILABLE, message)


async def wait_for_catalog(read: Callable[[], Awaitable[T]], until: float, title: str = "build's file") -> T:
    """The result of reading a file from the catalog; repeated while that is unavailable, until this `monotonic()` time.

    Raises:
        DeviceFailure: the catalog does not have the file (artifact_invalid), or does not answer (network_error).
    """
    try:
        return await retry_outages(read, until, "build_file_postponed")
    except Exception as error:
        known = to_domain_error(error)
        if known is None:
            raise
        category = Category.ARTIFACT_INVALID if isinstance(known, NotFound) else Category.NETWORK_ERROR
        raise DeviceFailure(category, f"The catalog did not deliver the {title}: {known.message}.") from error


async def retry_outages(read: Callable[[], Awaitable[T]], until: float, event: str) -> T:
    """The result of reading from the catalog; repeated, each time logged as `event`, while that is unavailable, until
    this `monotonic()` time.
    """
    return await retry_transient(
        read,
        log=log,
        event=event,
        until=until,
        pause=lambda attempt: min(backoff_seconds(attempt, most=RETRY_SECONDS), max(0.0, until - monotonic())),
        transient=is_outage,
    )


def is_outage(error: Exception) -> bool:
    """Whether the catalog is unavailable."""
    return isinstance(to_domain_error(error), Unavailable | DeadlineExceeded)


def _verify(digest: str, file: CatalogFile) -> None:
    if digest != file.sha256.lower():
        message = f"The downloaded {file.title} differs from the uploaded one: its SHA-256 is {digest}."
        raise DeviceFailure(Category.ARTIFACT_INVALID, message)


def _append(path: Path, chunk: bytes) -> None:
    with path.open("ab") as opened:
        opened.write(chunk)


def _scan(folder: Path) -> list[tuple[Path, int]]:
    """The files that an earlier process left, oldest first; removes its unfinished downloads."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for path in folder.iterdir():
        if path.suffix == PARTIAL_SUFFIX:
            path.unlink(missing_ok=True)
        elif path.is_file():
            stat = path.stat()
            files.append((stat.st_mtime, path, stat.st_size))
    return [(path, size) for _, path, size in sorted(files)]
