"""Objects (builds, screenshots, logs) in a local folder, S3, GCS, Azure or memory, streamed in chunks."""

import asyncio
import hashlib
import os
import re
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import IO, Any, TypeVar
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from services.chassis import metrics
from services.chassis.byte_ranges import FilePart
from services.chassis.errors import NotFound, Unavailable
from services.chassis.file_writer import FileWriter, StoredFile

CHUNK_BYTES = 1024 * 1024
# What is larger is sent in parts of this size.
PART_BYTES = 8 * 1024 * 1024
PARTS_AT_ONCE = 2
# Of what arrives as a stream: each upload holds one part that is being gathered and one that is being sent. S3 takes no
# smaller ones.
STREAM_PART_BYTES = 5 * 1024 * 1024
DELETE_CHUNK = 50
# Of objects in a folder, which other services read.
FILE_MODE = 0o644
FOLDER_ATTEMPTS = 3

T = TypeVar("T")

# Linux only.
_CACHED_ONLY = getattr(os, "RWF_NOWAIT", 0)

_bytes = metrics.counter("mobiletest_artifact_bytes_total", "Bytes stored (in) and read (out)", ["direction"])


class ObjectStore:
    """Objects by key ("org/ab12...").

    Raises:
        NotFound: there is no object with this key.
        Unavailable: the store is down or full.
        ValueError: for a key that leads out of the store (".."): keys never come from clients.
    """

    def __init__(self, open_store: Callable[[], Any], *, folder: Path | None = None) -> None:
        self._open_store = open_store
        self._folder = folder

    @cached_property
    def _store(self) -> Any:
        return self._open_store()

    @classmethod
    def open(cls, url: str, *, create: bool = True) -> "ObjectStore":
        """file:///folder, s3://, gs://, az:// or memory:///; credentials from the environment.

        `create` a folder that is missing: not for who only reads it.
        """
        parts = urlsplit(url)
        if parts.scheme == "file":
            folder = Path(unquote(parts.path))
            if create:
                folder.mkdir(parents=True, exist_ok=True)
            return cls(lambda: _obstore().store.LocalStore(folder, automatic_cleanup=True), folder=folder)
        store = _obstore().store.from_url(url)  # at once, because the URL may be wrong
        return cls(lambda: store)

    async def put_bytes(self, key: str, content: bytes) -> None:
        """Store `content`; replaces an existing object."""
        await self._put(key, content)

    async def put_file(self, key: str, path: Path) -> None:
        """Store a local file; replaces an existing object.

        A folder on the same file system takes the file: it is gone then, and no byte is copied.
        After any failure there is no object, or the earlier one: the new one becomes visible when it is complete.

        Raises:
            FileNotFoundError: there is no such file.
        """
        size = _size(path)
        if self._folder is not None and await asyncio.to_thread(_move, path, self._folder, key):
            _bytes.labels("in").inc(size)
            return
        await self._put(key, path)

    async def put_stream(self, key: str, chunks: AsyncIterator[bytes]) -> StoredFile:
        """Store the chunks as they arrive; replaces an existing object.

        After any failure there is no object, or the earlier one. What a killed process leaves in a folder is named
        `<key>.<id>`.
        """
        if self._folder is not None and _is_plain(key):
            stored = await self._write_file(key, self._folder / key, chunks)
        else:
            stored = await self._send(key, chunks)
        _bytes.labels("in").inc(stored.size)
        return stored

    async def _write_file(self, key: str, path: Path, chunks: AsyncIterator[bytes]) -> StoredFile:
        part = path.with_name(f"{path.name}.{uuid4().hex}")
        with _domain_errors(key):
            file = await asyncio.to_thread(_create, part)
        try:
            with file:
                async with FileWriter(file) as writer:
                    async for chunk in chunks:
                        with _domain_errors(key):
                            await writer.add(chunk)
                    with _domain_errors(key):
                        stored = await writer.finish()
            with _domain_errors(key):
                part.replace(path)
        except BaseException:
            # Shielded, because a request that is cancelled is the usual reason, and the part would take room until
            # somebody deletes all below a prefix of its key.
            await asyncio.shield(asyncio.to_thread(_remove, part))
            raise
        return stored

    async def _send(self, key: str, chunks: AsyncIterator[bytes]) -> StoredFile:
        digest, size = hashlib.sha256(), 0
        options: Any = {"buffer_size": STREAM_PART_BYTES, "max_concurrency": 1}
        writer = _obstore().open_writer_async(self._store, key, **options)
        async for chunk in chunks:
            await asyncio.to_thread(digest.update, chunk)
            size += len(chunk)
            with _domain_errors(key):
                await writer.write(chunk)
        with _domain_errors(key):
            await writer.close()  # makes the object; without it there is none
        return StoredFile(digest.hexdigest(), size)

    async def move(self, source: str, target: str) -> None:
        """Give the object another key; replaces an existing object. No byte passes through this process.

        Raises:
            NotFound: it does not exist.
        """
        with _domain_errors(source):
            if self._folder is not None and _is_plain(source) and _is_plain(target):
                await asyncio.to_thread(_rename, self._folder / source, self._folder / target)
            else:
                await _obstore().rename_async(self._store, source, target)

    def local_path(self, key: str) -> Path | None:
        """Where this process can read the object as a file, if it exists; None if the store is no folder."""
        return self._folder / key if self._folder is not None and _is_plain(key) else None

    async def _put(self, key: str, content: bytes | Path) -> None:
        size = _size(content)
        with _domain_errors(key):
            await _obstore().put_async(self._store, key, content, chunk_size=PART_BYTES, max_concurrency=PARTS_AT_ONCE)
        _bytes.labels("in").inc(size)

    async def get_stream(self, key: str, part: FilePart | None = None) -> AsyncIterator[bytes]:
        """The object, or a part of it, in chunks of about 1 MiB.

        Raises:
            NotFound: before the first chunk, if there is no such object.
        """
        if self._folder is not None and _is_plain(key):
            chunks = _read_file(self._folder / key, part)
        else:
            chunks = self._get_stream(key, part)
        with _domain_errors(key):
            async with aclosing(chunks):
                async for chunk in chunks:
                    _bytes.labels("out").inc(len(chunk))
                    yield chunk

    async def _get_stream(self, key: str, part: FilePart | None) -> AsyncGenerator[bytes, None]:
        options: Any = None if part is None or not part.is_range else {"range": (part.start, part.end)}
        response = await _obstore().get_async(self._store, key, options=options)
        async for chunk in response.stream(min_chunk_size=CHUNK_BYTES):
            yield bytes(chunk)

    async def delete_all(self, prefix: str) -> int:
        """Delete every object below `prefix` (whole path segments: "runs/1" is not "runs/12"); returns their number."""
        deleted = 0
        with _domain_errors(prefix):
            async for listed in _obstore().list(self._store, prefix, chunk_size=DELETE_CHUNK):
                await asyncio.gather(*(self.delete(entry["path"]) for entry in listed))
                deleted += len(listed)
        return deleted

    async def delete(self, key: str) -> None:
        """Delete the object, if it exists."""
        with suppress(NotFound), _domain_errors(key):
            await _obstore().delete_async(self._store, key)


def _obstore() -> Any:
    """Imported for the first object of a folder, because it takes 4 MiB."""
    import obstore.exceptions
    import obstore.store

    return obstore


def _move(file: Path, folder: Path, key: str) -> bool:
    """Whether the file is an object now; otherwise it is where it was."""
    if not _is_plain(key):
        return False
    with suppress(OSError):
        file.chmod(FILE_MODE)
        _in_folder(folder / key, lambda: file.replace(folder / key))
        return True
    return False


def _rename(source: Path, target: Path) -> None:
    # A missing object is an error here, before a folder is made for it and the move is tried again.
    source.stat()
    _in_folder(target, lambda: source.replace(target))
    _remove_if_empty(source.parent)


def _remove(file: Path) -> None:
    file.unlink(missing_ok=True)
    _remove_if_empty(file.parent)


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def _create(path: Path) -> IO[bytes]:
    file = _in_folder(path, lambda: path.open("xb"))
    path.chmod(FILE_MODE)
    return file


def _in_folder(path: Path, act: Callable[[], T]) -> T:
    """Make the folder of the path and act there; again when it was removed in between, because it was empty."""
    for _ in range(FOLDER_ATTEMPTS):
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            return act()
    return act()


def _is_plain(key: str) -> bool:
    """Whether the key is also the path of the object within a folder: the store escapes what others have."""
    return re.fullmatch(r"[\w-][\w.-]*(/[\w-][\w.-]*)*", key, re.ASCII) is not None


async def _read_file(path: Path, part: FilePart | None) -> AsyncGenerator[bytes, None]:
    """The file in chunks: obstore would read it in pieces of 8 KiB, each on its way through a thread."""
    buffer = memoryview(bytearray(CHUNK_BYTES))
    with await asyncio.to_thread(path.open, "rb", buffering=0) as file:
        position, end = (0, sys.maxsize) if part is None or not part.is_range else (part.start, part.end)
        while position < end and (count := await _read_into(buffer[: end - position], file.fileno(), position)):
            yield bytes(buffer[:count])
            position += count


async def _read_into(buffer: memoryview, file: int, position: int) -> int:
    """Read what the system has in memory at once, because a thread takes longer than the copy; else in a thread."""
    if _CACHED_ONLY:
        with suppress(OSError):
            return os.preadv(file, [buffer], position, _CACHED_ONLY)
    return await asyncio.to_thread(os.preadv, file, [buffer], position)


def _size(content: bytes | Path) -> int:
    return content.stat().st_size if isinstance(content, Path) else len(content)


@contextmanager
def _domain_errors(key: str) -> Iterator[None]:
    """What obstore and the file system raise inside the block as domain errors."""
    try:
        yield
    except (_obstore().exceptions.BaseError, OSError) as error:
        raise _domain_error(error, key) from error


def _domain_error(error: Exception, key: str) -> Exception:
    if isinstance(error, FileNotFoundError | _obstore().exceptions.NotFoundError):
        return NotFound("Object not found", metadata={"key": key})
    return Unavailable("The artifact store is not available, try again", reason="STORE_UNAVAILABLE", retry_after=5.0)
