"""Writes and hashes a file that arrives in chunks, in a thread, while the next ones arrive."""

import asyncio
import hashlib
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

# Of each file so many bytes wait for the disk at most, besides those that are being written.
GATHERED_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class StoredFile:
    """What a file has become: its SHA-256 in hexadecimal, and its size in bytes."""

    sha256: str
    size: int


class FileWriter:
    """Appends to a file inside a block; after it no thread uses the file any more."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self._size = 0
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0
        self._writing: asyncio.Future[None] | None = None

    async def __aenter__(self) -> "FileWriter":
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._writing is not None:
            with suppress(OSError):
                await asyncio.shield(self._writing)

    async def add(self, chunk: bytes) -> None:
        """Take the next bytes.

        Raises:
            OSError: earlier ones cannot be written.
        """
        self._size += len(chunk)
        self._gathered.append(chunk)
        self._gathered_bytes += len(chunk)
        if self._writing is None or self._writing.done() or self._gathered_bytes >= GATHERED_BYTES:
            await self._write()

    async def finish(self) -> StoredFile:
        """Wait until everything is written.

        Raises:
            OSError: the file cannot be written.
        """
        await self._write()
        if self._writing is not None:
            await asyncio.shield(self._writing)
        return StoredFile(self._digest.hexdigest(), self._size)

    async def _write(self) -> None:
        if self._writing is not None:
            await asyncio.shield(self._writing)
        gathered, self._gathered, self._gathered_bytes = self._gathered, [], 0
        self._writing = asyncio.get_running_loop().run_in_executor(None, self._append, gathered)

    def _append(self, chunks: list[bytes]) -> None:
        self._file.writelines(chunks)
        self._file.flush()
        for chunk in chunks:
            self._digest.update(chunk)
