"""Packs files into a zip archive while they arrive; nothing is compressed, and at most one chunk is kept."""

import zipfile
from collections.abc import AsyncIterator


class ZipStream:
    """An archive whose bytes are taken from it as soon as they are written."""

    def __init__(self) -> None:
        self._written = _Buffer()
        self._archive = zipfile.ZipFile(self._written, "w")

    @property
    def file_count(self) -> int:
        return len(self._archive.filelist)

    async def add(self, path: str, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The bytes of the archive that the file adds."""
        with self._archive.open(zipfile.ZipInfo(path), "w") as file:
            async for chunk in chunks:
                file.write(chunk)
                yield self._written.take()
        yield self._written.take()

    def finish(self) -> bytes:
        """The directory of the archive, which ends it."""
        self._archive.close()
        return self._written.take()


class _Buffer:
    """A file that can only be written."""

    def __init__(self) -> None:
        self._content = bytearray()

    def write(self, content: bytes) -> int:
        self._content += content
        return len(content)

    def flush(self) -> None:
        """There is nothing to flush."""

    def close(self) -> None:
        """What was written can still be taken."""

    def take(self) -> bytes:
        """What was written since the last time."""
        taken, self._content = bytes(self._content), bytearray()
        return taken
