"""Receives an uploaded file of any size with bounded memory: on local disk until it is complete and inspected."""

import asyncio
import hashlib
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO

from services.catalog.model.builds import ReceivedFile
from services.chassis.errors import InvalidArgument, Unavailable, Violation

CHUNK_BYTES = 1024 * 1024
LEFTOVER_SECONDS = 24 * 3600
PREFIX = "mobiletest-upload-"


class Spool:
    """A folder for files being uploaded. Each file in it belongs to an upload in progress."""

    def __init__(self, folder: Path, *, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes

    def prepare(self) -> None:
        """Create the folder and remove files that killed processes left; uploads in progress are younger than a day."""
        self._folder.mkdir(parents=True, exist_ok=True)
        yesterday = time.time() - LEFTOVER_SECONDS
        for path in self._folder.glob(f"{PREFIX}*"):
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < yesterday:
                    path.unlink()

    @asynccontextmanager
    async def receive(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[ReceivedFile]:
        """The complete file while the context lasts; afterwards, or after an upload that was cut, the file is removed.

        InvalidArgument (ARTIFACT_TOO_LARGE) as soon as it is too large; Unavailable when the disk is full.
        """
        with tempfile.NamedTemporaryFile(dir=self._folder, prefix=PREFIX, delete=False) as file:
            path = Path(file.name)
            try:
                yield await self._write(file, path, chunks)
            finally:
                _remove(path)

    async def _write(self, file: IO[bytes], path: Path, chunks: AsyncIterator[bytes]) -> ReceivedFile:
        digest, size = hashlib.sha256(), 0
        async for chunk in chunks:
            size += len(chunk)
            self._check(size)
            await asyncio.to_thread(_append, file, chunk, digest)
        return ReceivedFile(path, digest.hexdigest(), size)

    def _check(self, size: int) -> None:
        if size > self._max_bytes:
            message = f"The file is larger than {self._max_bytes} bytes"
            raise InvalidArgument(
                message, reason="ARTIFACT_TOO_LARGE", violations=[Violation("file", message, "too_large")]
            )


async def read(path: Path) -> AsyncIterator[bytes]:
    """The file's bytes, a mebibyte at a time."""
    with path.open("rb") as file:
        while chunk := await asyncio.to_thread(file.read, CHUNK_BYTES):
            yield chunk


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


def _append(file: IO[bytes], chunk: bytes, digest: "hashlib._Hash") -> None:
    try:
        file.write(chunk)
        file.flush()
    except OSError as problem:
        message = "The service has no disk space for the upload right now; try again later"
        raise Unavailable(message, reason="SPOOL_FULL", retry_after=30.0) from problem
    digest.update(chunk)
