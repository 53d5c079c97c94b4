"""The files of uploads: in the object store as soon as they arrive, and readable here until they are inspected."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

from services.catalog.model.builds import ReceivedFile
from services.catalog.model.part_uploads import parts_prefix
from services.catalog.ports import Store
from services.catalog.spool import SpoolRoom, UploadSpool
from services.chassis import logs
from services.chassis.context import current
from services.chassis.errors import DomainError, NotFound, Unavailable
from services.chassis.file_writer import StoredFile
from services.chassis.ids import random_id
from services.chassis.object_store import ObjectStore
from services.chassis.retry import log_transient
from services.chassis.upload_rate import UploadRate

log = logs.get(__name__)

# Makes sure that a file may have so many bytes, which are about to be stored; errors of who receives the file.
Cover: TypeAlias = Callable[[int], Awaitable[None]]
# Stores the file of an upload at this key, or lets the caller store it, until it is there; what it has become.
Arrive: TypeAlias = Callable[[str, Cover], Awaitable[StoredFile]]


@dataclass(frozen=True, slots=True)
class ArrivedFile:
    """A file in the object store, which may be read as a local one."""

    key: str
    size: int
    sha256: str
    # The file inside a block, for which what is stored elsewhere is copied; Unavailable if it is not the announced one.
    open: Callable[[], AbstractAsyncContextManager[ReceivedFile]]


class UploadedFiles:
    """Receives the files of uploads."""

    def __init__(self, store: Store, objects: ObjectStore, spool: UploadSpool, rate: UploadRate) -> None:
        self._store = store
        self._objects = objects
        self._spool = spool
        self._rate = rate

    @asynccontextmanager
    async def receive(self, arrive: Arrive, cover: Cover, *, expected: int) -> AsyncIterator[ArrivedFile]:
        """The complete file inside the block; afterwards nothing is at its key. `expected` is the size of the file or
        a bit more, 0 if unknown. What cannot be deleted, and what the caller still stores after a failure, is left to
        the sweeper. The errors of `UploadSpool.room`, `arrive` and `cover`.
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
                yield ArrivedFile(key, stored.size, stored.sha256, partial(self._open, key, stored, room))
            finally:
                with suppress(DomainError):
                    await self._objects.delete(key)
                with log_transient(log, "arriving_file_not_ended", upload_id=upload_id):
                    await self._store.arriving_files.end(upload_id)

    async def store(self, chunks: AsyncIterator[bytes], key: str, cover: Cover) -> StoredFile:
        """Store the bytes at the key, not faster than the organisation may upload."""
        return await self._objects.put_stream(key, _covered(self._rate.limit(chunks), cover))

    @asynccontextmanager
    async def _open(self, key: str, stored: StoredFile, room: SpoolRoom) -> AsyncIterator[ReceivedFile]:
        """See `ArrivedFile`."""
        if (path := self._objects.local_path(key)) is not None:
            _check_stored(await asyncio.to_thread(_size_of, path) == stored.size)
            yield ReceivedFile(path, stored.sha256, stored.size)
            return
        async with room.receive(self._read_stored(key)) as copy:
            _check_stored((copy.sha256, copy.size) == (stored.sha256, stored.size))
            yield copy

    async def _read_stored(self, key: str) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._objects.get_stream(key):
                yield chunk
        except NotFound:
            raise file_not_stored() from None


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
        raise file_not_stored()


def file_not_stored() -> Unavailable:
    """The error for a file that the caller says it has stored."""
    message = (
        "The file is not in the object store, or is another one than the gateway has stored: do both have the same "
        "MOBILETEST_OBJECT_STORE?"
    )
    return Unavailable(message, reason="FILE_NOT_STORED")
