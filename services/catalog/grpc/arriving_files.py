"""The messages of a file that arrives: its bytes, or how many of them the caller has written to the object store."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

from services.catalog.usecases.uploaded_files import Cover
from services.chassis.context import current
from services.chassis.errors import Aborted
from services.chassis.file_writer import StoredFile
from services.chassis.stored_transfers import WRITES_OBJECTS, key_metadata

# Stores chunks at a key; see `UploadedFiles.store`.
StoreChunks: TypeAlias = Callable[[AsyncIterator[bytes], str, Cover], Awaitable[StoredFile]]


class ArrivingFile:
    """The file of one upload. `look` is called with each message before its bytes count."""

    def __init__(
        self,
        context: Any,
        requests: AsyncIterator[Any],
        store: StoreChunks,
        *,
        look: Callable[[Any], None] = lambda _: None,
    ) -> None:
        self._context = context
        self._requests = requests
        self._store = store
        self._look = look

    async def arrive(self, key: str, cover: Cover) -> StoredFile:
        """See `uploaded_files.Arrive`.

        Raises:
            Aborted: the messages are not complete.
        """
        if current().via_gateway and WRITES_OBJECTS in self._context.invocation_metadata():
            return await self._wait_until_stored(key, cover)
        return await self._store(read_chunks(self._requests, self._look), key, cover)

    async def _wait_until_stored(self, key: str, cover: Cover) -> StoredFile:
        await self._context.send_initial_metadata(key_metadata(key))
        size = 0
        async for request in self._requests:
            self._look(request)
            if request.HasField("end") and request.end.sha256:
                await cover(request.end.size)
                return StoredFile(request.end.sha256, request.end.size)
            size = request.stored_bytes
            await cover(size)
        raise upload_cut(f"it stopped after {size} bytes")


async def read_chunks(requests: AsyncIterator[Any], look: Callable[[Any], None]) -> AsyncIterator[bytes]:
    """The bytes of messages with a chunk each.

    `look` is called with each message before its bytes are given.

    Raises:
        Aborted: they stop before the end, or bytes are missing.
    """
    size = 0
    async for request in requests:
        look(request)
        if request.HasField("end"):
            if request.end.size != size:
                raise upload_cut(f"{size} of {request.end.size} bytes arrived")
            return
        chunk = request.chunk  # a copy: read once
        size += len(chunk)
        yield chunk
    raise upload_cut(f"it stopped after {size} bytes")


def upload_cut(how: str) -> Aborted:
    """The error for an upload whose messages are not complete."""
    return Aborted(f"The upload was cut: {how}; send it again", reason="UPLOAD_CUT")
