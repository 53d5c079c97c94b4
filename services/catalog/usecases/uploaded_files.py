"""The files of uploads: in the object store as soon as they arrive, and readable here until they are inspected."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from services.catalog.model.builds import ReceivedFile
from services.catalog.model.part_uploads import parts_prefix
from services.catalog.ports import Store
from services.catalog.spool import Spool, SpoolRoom
from services.chassis.context import current
from services.chassis.errors import DomainError, NotFound, Unavailable
from services.chassis.file_writer import StoredFile
from services.chassis.ids import random_id
from services.chassis.object_store import ObjectStore
from services.chassis.upload_rate import UploadRate

# Makes sure that a file may have so many bytes, which are about to be stored; errors of who receives the file.
Cover: TypeAlias = Callable[[int], Awaitable[None]]
# Stores the file of an upload at this key, or lets the caller store it, until it is there; what it has become.
Arrive: TypeAlias = Callable[[str, Cover], Awaitable[StoredFile]]


class UploadedFiles:
    """Receives the files of uploads."""

    def __init__(self, store: Store, objects: ObjectStore, spool: Spool, rate: UploadRate) -> None:
        self._store = store
        self._objects = objects
        self._spool = spool
        self._rate = rate

    @asynccontextmanager
    async def receive(self, arrive: Arrive, cover: Cover, *, expected: int) -> AsyncIterator[tuple[str, ReceivedFile]]:
        """The complete file, and its key, inside the block; afterwards nothing is at the key. `expected` is the size
        of the file or a bit more, 0 if unknown. What cannot be deleted, and what the caller still stores after a
        failure, is left to the sweeper. The errors of `Spool.room`, `arrive` and `cover`.

        Raises:
            Unavailable: the file is not the one that was announced.
        """
        upload_id = random_id()
        key = f"{parts_prefix(current().org_id, upload_id)}/file"
        with self._spool.room(expected) as room:

            async def cover_all(size: int) -> None:
                room.cover(size)
                await cover(size)

            await self._store.arriving_files.add(upload_id)
            try:
                stored = await arrive(key, cover_all)
                async with self._readable(key, stored, room) as path:
                    yield key, ReceivedFile(path, stored.sha256, stored.size)
            finally:
                with suppress(DomainError):
                    await self._objects.delete(key)
                await self._store.arriving_files.end(upload_id)

    async def store(self, chunks: AsyncIterator[bytes], key: str, cover: Cover) -> StoredFile:
        """Store the bytes at the key, not faster than the organisation may upload."""
        return await self._objects.put_stream(key, _covered(self._rate.limit(chunks), cover))

    @asynccontextmanager
    async def _readable(self, key: str, stored: StoredFile, room: SpoolRoom) -> AsyncIterator[Path]:
        """The object as a file inside the block."""
        if (path := self._objects.local_path(key)) is not None:
            _check_stored(await asyncio.to_thread(_size_of, path) == stored.size)
            yield path
            return
        async with room.receive(self._read_stored(key)) as copy:
            _check_stored((copy.sha256, copy.size) == (stored.sha256, stored.size))
            yield copy.path

    async def _read_stored(self, key: str) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._objects.get_stream(key):
                yield chunk
        except NotFound:
            _check_stored(False)


async def _covered(chunks: AsyncIterator[bytes], cover: Cover) -> AsyncIterator[bytes]:
    """The chunks, each covered before it is passed on."""
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        await cover(size)
        yield chunk


def _size_of(path: Path) -> int | None:
    """None: there is no such file."""
    return path.stat().st_size if path.is_file() else None


def _check_stored(is_stored: bool) -> None:
    if not is_stored:
        message = (
            "The file is not in the object store, or is another one than the gateway has stored: do both have the same "
            "MOBILETEST_OBJECT_STORE?"
        )
        raise Unavailable(message, reason="FILE_NOT_STORED")
