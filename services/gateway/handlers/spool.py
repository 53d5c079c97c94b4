"""A place for a file whose description comes after it: memory up to a megabyte, a temporary file beyond."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from tempfile import SpooledTemporaryFile

from services.chassis.errors import Unavailable

IN_MEMORY_BYTES = 1024 * 1024


class Spool:
    """Written once, then read once. The disk is used in a thread."""

    def __init__(self, file: "SpooledTemporaryFile[bytes]") -> None:
        self._file = file

    async def fill(self, chunks: AsyncIterator[bytes]) -> None:
        """Keep all chunks; Unavailable when the disk has no room for them."""
        async for chunk in chunks:
            try:
                await asyncio.to_thread(self._file.write, chunk)
            except OSError as error:
                raise Unavailable(f"the upload cannot be kept: {error}", reason="SPOOL_FAILED") from error
        await asyncio.to_thread(self._file.seek, 0)

    async def chunks(self, size: int) -> AsyncIterator[bytes]:
        """What was kept, in chunks of `size` bytes."""
        while chunk := await asyncio.to_thread(self._file.read, size):
            yield chunk


@asynccontextmanager
async def spool() -> AsyncIterator[Spool]:
    """A spool that leaves nothing behind."""
    with SpooledTemporaryFile(max_size=IN_MEMORY_BYTES) as file:
        yield Spool(file)
