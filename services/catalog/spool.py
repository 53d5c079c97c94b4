"""Receives an uploaded file of any size with bounded memory: on local disk until it is complete and inspected."""

import asyncio
import fcntl
import os
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from services.catalog.model.builds import ReceivedFile
from services.chassis import metrics
from services.chassis.context import current
from services.chassis.errors import InvalidArgument, Unavailable, Violation
from services.chassis.file_writer import FileWriter
from services.chassis.limit_refusals import limit_reached, refusals

# A file is locked from this moment on at the latest.
LEFTOVER_SECONDS = 1.0
# An upload of unknown size, or one larger than expected, takes so many more bytes of the spool at once.
PORTION_BYTES = 64 * 1024 * 1024
FULL_RETRY_SECONDS = 10.0
PREFIX = "mobiletest-upload-"

_spooled = metrics.gauge("mobiletest_upload_spool_bytes", "Bytes of the spool that uploads under way have taken")


class UploadSpool:
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
        The errors of `room`.
        """
        with self.room(expected) as room:
            async with room.receive(chunks) as file:
                yield file

    @contextmanager
    def room(self, expected: int) -> Iterator["SpoolRoom"]:
        """Room for a file inside the block. `expected` is its size or a bit more, 0 if unknown.

        Raises:
            InvalidArgument: as soon as it is too large (ARTIFACT_TOO_LARGE).
            Unavailable: there is no room for it (SPOOL_FULL).
            ResourceExhausted: the organisation's own uploads take the room.
        """
        room = SpoolRoom(self, current().org_id)
        try:
            self.extend(room, min(expected, self._max_bytes) or PORTION_BYTES)
            yield room
        finally:
            self._taken -= room.size
            self._taken_by[room.org_id] -= room.size
            if not self._taken_by[room.org_id]:
                del self._taken_by[room.org_id]

    def extend(self, room: "SpoolRoom", size: int) -> None:
        """Take so many more bytes. The errors of `room`."""
        if self._taken + size > self._capacity:
            refusals.labels("spool_bytes").inc()
            raise _spool_full(f"uploads under way fill the {self._capacity} bytes for them (MOBILETEST_SPOOL_BYTES)")
        if self._taken_by[room.org_id] + size > self._org_capacity:
            what = "wait until one of the organisation's uploads has ended"
            raise limit_reached("spool_bytes", self._org_capacity, what, retry_after=FULL_RETRY_SECONDS)
        self._taken += size
        self._taken_by[room.org_id] += size
        room.size += size

    def check(self, size: int) -> None:
        """Check the size of a file.

        Raises:
            InvalidArgument: a file of this size is too large.
        """
        if size > self._max_bytes:
            message = f"The file is larger than {self._max_bytes} bytes"
            raise InvalidArgument(
                message, reason="ARTIFACT_TOO_LARGE", violations=[Violation("file", message, "too_large")]
            )

    @asynccontextmanager
    async def write(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[ReceivedFile]:
        """A file of the chunks inside the block.

        Raises:
            Unavailable: the disk is full.
        """
        with tempfile.NamedTemporaryFile(dir=self._folder, prefix=PREFIX, delete=False) as file:
            path = Path(file.name)
            # The lock ends with the process, even a killed one, which tells leftovers from uploads under way.
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                async with FileWriter(file) as writer:
                    async for chunk in chunks:
                        with _disk_errors():
                            await writer.add(chunk)
                    with _disk_errors():
                        stored = await writer.finish()
                yield ReceivedFile(path, stored.sha256, stored.size)
            finally:
                await asyncio.shield(asyncio.to_thread(_remove, path))  # a large file takes a while


@dataclass(slots=True)
class SpoolRoom:
    """The bytes of the spool that one upload of an organisation has taken."""

    spool: UploadSpool
    org_id: str
    size: int = 0

    def cover(self, size: int) -> None:
        """Make sure that there is room for a file of this size. The errors of `UploadSpool.room`."""
        self.spool.check(size)
        if size > self.size:
            self.spool.extend(self, max(PORTION_BYTES, size - self.size))

    def receive(self, chunks: AsyncIterator[bytes]) -> AbstractAsyncContextManager[ReceivedFile]:
        """The file of the chunks inside the block; it is removed afterwards. The errors of `UploadSpool.room`."""
        return self.spool.write(self._covered(chunks))

    async def _covered(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in chunks:
            size += len(chunk)
            self.cover(size)
            yield chunk


def _remove_unlocked(path: Path) -> None:
    """OSError: an upload in progress has the file, or has ended meanwhile."""
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if time.time() - os.fstat(file.fileno()).st_mtime > LEFTOVER_SECONDS:
            path.unlink()


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise _spool_full("the disk is full") from problem


def _spool_full(why: str) -> Unavailable:
    message = f"There is no room for the upload right now: {why}; try again later"
    return Unavailable(message, reason="SPOOL_FULL", retry_after=FULL_RETRY_SECONDS)
