"""Receives an uploaded file of any size with bounded memory: on local disk until it is complete and inspected."""

import asyncio
import fcntl
import hashlib
import os
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from services.catalog.model.builds import ReceivedFile
from services.chassis import metrics
from services.chassis.context import current
from services.chassis.errors import InvalidArgument, Unavailable, Violation
from services.chassis.limits import limit_reached, refusals

LEFTOVER_SECONDS = 1.0
"""A file is locked from this moment on at the latest."""
PORTION_BYTES = 64 * 1024 * 1024
"""An upload of unknown size, or one larger than expected, takes so many more bytes of the spool at once."""
GATHERED_BYTES = 1024 * 1024
"""Of each upload so many bytes wait for the disk at most, besides those that are being written."""
FULL_RETRY_SECONDS = 10.0
PREFIX = "mobiletest-upload-"

_spooled = metrics.gauge("mobiletest_upload_spool_bytes", "Bytes of the spool that uploads under way have taken")


class Spool:
    """A folder for files being uploaded. Each file in it belongs to an upload in progress.

    A file has at most `max_bytes`, all files together at most `capacity`, and those of one organisation a quarter of
    that, or one file if that is more. Other processes have folders of their own.
    """

    def __init__(self, folder: Path, *, max_bytes: int, capacity: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._capacity = capacity
        self._taken = 0
        self._org_capacity = max(capacity // 4, max_bytes + PORTION_BYTES)
        self._taken_by: Counter[str] = Counter()
        _spooled.set_function(lambda: self._taken)

    def prepare(self) -> None:
        """Create the folder and remove files that killed processes left; those of uploads in progress are locked."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for path in self._folder.glob(f"{PREFIX}*"):
            with suppress(OSError):
                _remove_unlocked(path)

    @asynccontextmanager
    async def receive(self, chunks: AsyncIterator[bytes], *, expected: int = 0) -> AsyncIterator[ReceivedFile]:
        """The complete file while the context lasts; afterwards, or after an upload that was cut, the file is removed.

        `expected` is its size or a bit more, 0 if unknown. InvalidArgument (ARTIFACT_TOO_LARGE) as soon as it is too
        large; without room for it Unavailable (SPOOL_FULL), or ResourceExhausted when the organisation's own uploads
        take it, if possible before the first chunk is read.
        """
        with (
            self._room(min(expected, self._max_bytes) or PORTION_BYTES) as room,
            tempfile.NamedTemporaryFile(dir=self._folder, prefix=PREFIX, delete=False) as file,
        ):
            path = Path(file.name)
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                yield await self._write(file, path, chunks, room)
            finally:
                await asyncio.shield(asyncio.to_thread(_remove, path))  # a large file takes a while

    @contextmanager
    def _room(self, size: int) -> Iterator["_Room"]:
        room = _Room(current().org_id)
        try:
            self._extend(room, size)
            yield room
        finally:
            self._taken -= room.size
            self._taken_by[room.org_id] -= room.size
            if not self._taken_by[room.org_id]:
                del self._taken_by[room.org_id]

    def _extend(self, room: "_Room", size: int) -> None:
        if self._taken + size > self._capacity:
            refusals.labels("spool_bytes").inc()
            raise _spool_full(f"uploads under way fill the {self._capacity} bytes for them (MOBILETEST_SPOOL_BYTES)")
        if self._taken_by[room.org_id] + size > self._org_capacity:
            what = "wait until one of the organisation's uploads has ended"
            raise limit_reached("spool_bytes", self._org_capacity, what, retry_after=FULL_RETRY_SECONDS)
        self._taken += size
        self._taken_by[room.org_id] += size
        room.size += size

    async def _write(self, file: IO[bytes], path: Path, chunks: AsyncIterator[bytes], room: "_Room") -> ReceivedFile:
        size = 0
        async with _Writer(file) as writer:
            async for chunk in chunks:
                size += len(chunk)
                self._check(size)
                if size > room.size:
                    self._extend(room, max(PORTION_BYTES, size - room.size))
                await writer.add(chunk)
        return ReceivedFile(path, writer.digest.hexdigest(), size)

    def _check(self, size: int) -> None:
        if size > self._max_bytes:
            message = f"The file is larger than {self._max_bytes} bytes"
            raise InvalidArgument(
                message, reason="ARTIFACT_TOO_LARGE", violations=[Violation("file", message, "too_large")]
            )


@dataclass(slots=True)
class _Room:
    """The bytes of the spool that one upload of an organisation has taken."""

    org_id: str
    size: int = 0


class _Writer:
    """Writes and hashes in a thread, while the next chunks arrive."""

    def __init__(self, file: IO[bytes]) -> None:
        self.digest = hashlib.sha256()
        self._file = file
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0
        self._writing: asyncio.Future[None] | None = None

    async def __aenter__(self) -> "_Writer":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Everything is written then; after an error only what the thread has begun."""
        if kind is None:
            await self._write_gathered()
        if self._writing is not None:
            with nullcontext() if kind is None else suppress(Unavailable):
                await asyncio.shield(self._writing)

    async def add(self, chunk: bytes) -> None:
        """Unavailable: the disk is full."""
        self._gathered.append(chunk)
        self._gathered_bytes += len(chunk)
        if self._writing is None or self._writing.done() or self._gathered_bytes >= GATHERED_BYTES:
            await self._write_gathered()

    async def _write_gathered(self) -> None:
        if self._writing is not None:
            await asyncio.shield(self._writing)
        gathered, self._gathered, self._gathered_bytes = self._gathered, [], 0
        self._writing = asyncio.get_running_loop().run_in_executor(None, _append, self._file, gathered, self.digest)


def _remove_unlocked(path: Path) -> None:
    """OSError: an upload in progress has the file, or has ended meanwhile."""
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if time.time() - os.fstat(file.fileno()).st_mtime > LEFTOVER_SECONDS:
            path.unlink()


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


def _append(file: IO[bytes], chunks: list[bytes], digest: "hashlib._Hash") -> None:
    try:
        file.writelines(chunks)
        file.flush()
    except OSError as problem:
        raise _spool_full("the disk is full") from problem
    for chunk in chunks:
        digest.update(chunk)


def _spool_full(why: str) -> Unavailable:
    message = f"There is no room for the upload right now: {why}; try again later"
    return Unavailable(message, reason="SPOOL_FULL", retry_after=FULL_RETRY_SECONDS)
