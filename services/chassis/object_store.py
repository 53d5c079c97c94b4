"""Objects (builds, screenshots, logs) in a local folder, S3, GCS, Azure or memory, streamed in chunks."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import LocalStore, from_url

from services.chassis import metrics
from services.chassis.byte_ranges import FilePart
from services.chassis.errors import NotFound, ResourceExhausted, Unavailable

CHUNK_BYTES = 1024 * 1024
DELETE_CHUNK = 50

_bytes = metrics.counter("mobiletest_artifact_bytes_total", "Bytes stored (in) and read (out)", ["direction"])


@dataclass(frozen=True, slots=True)
class StoredObject:
    """A stored object; `sha256` is hexadecimal."""

    key: str
    size: int
    sha256: str


class ObjectStore:
    """Objects by key ("org/ab12..."). NotFound for missing keys; Unavailable when the store is down or full.

    ValueError for a key that leads out of the store (".."): keys never come from clients.
    """

    def __init__(self, store: Any) -> None:
        self._store = store

    @classmethod
    def open(cls, url: str) -> "ObjectStore":
        """file:///folder (created if missing), s3://, gs://, az:// or memory:///; credentials from the environment."""
        parts = urlsplit(url)
        if parts.scheme == "file":
            folder = Path(unquote(parts.path))
            folder.mkdir(parents=True, exist_ok=True)
            return cls(LocalStore(folder, automatic_cleanup=True))
        return cls(from_url(url))

    async def put_bytes(self, key: str, content: bytes) -> StoredObject:
        """Store `content`; replaces an existing object."""
        try:
            await obstore.put_async(self._store, key, content)
        except (BaseError, OSError) as error:
            raise _domain_error(error, key) from error
        _bytes.labels("in").inc(len(content))
        return StoredObject(key, len(content), sha256(content).hexdigest())

    async def put_stream(self, key: str, chunks: AsyncIterator[bytes], *, max_bytes: int | None = None) -> StoredObject:
        """Store the chunks. ResourceExhausted (OBJECT_TOO_LARGE) beyond `max_bytes`.

        After any failure there is no object: it becomes visible only when it is complete.
        """
        counted = _CountedStream(chunks, max_bytes)
        try:
            await obstore.put_async(self._store, key, counted, chunk_size=CHUNK_BYTES, max_concurrency=2)
        except (BaseError, OSError) as error:
            raise counted.failure or _domain_error(error, key) from error
        _bytes.labels("in").inc(counted.size)
        return StoredObject(key, counted.size, counted.hash.hexdigest())

    async def get_stream(self, key: str, part: FilePart | None = None) -> AsyncIterator[bytes]:
        """The object, or a part of it, in chunks of about 1 MiB; NotFound before the first one."""
        options: Any = None if part is None or not part.is_range else {"range": (part.start, part.end)}
        try:
            found = await obstore.get_async(self._store, key, options=options)
            async for chunk in found.stream(min_chunk_size=CHUNK_BYTES):
                _bytes.labels("out").inc(len(chunk))
                yield bytes(chunk)
        except (BaseError, OSError) as error:
            raise _domain_error(error, key) from error

    async def delete_all(self, prefix: str) -> int:
        """Delete every object below `prefix` (whole path segments: "runs/1" is not "runs/12"); returns their number."""
        deleted = 0
        try:
            async for listed in obstore.list(self._store, prefix, chunk_size=DELETE_CHUNK):
                await asyncio.gather(*(self.delete(found["path"]) for found in listed))
                deleted += len(listed)
        except (BaseError, OSError) as error:
            raise _domain_error(error, prefix) from error
        return deleted

    async def delete(self, key: str) -> None:
        """Delete the object, if it exists."""
        try:
            await obstore.delete_async(self._store, key)
        except FileNotFoundError:
            return
        except (BaseError, OSError) as error:
            raise _domain_error(error, key) from error


class _CountedStream:
    """Passes chunks on, counts and hashes them, and stores the error that ended them."""

    def __init__(self, chunks: AsyncIterator[bytes], max_bytes: int | None) -> None:
        self._chunks = chunks
        self._max = max_bytes
        self.size = 0
        self.hash = sha256()
        self.failure: Exception | None = None

    def __aiter__(self) -> "_CountedStream":
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await anext(self._chunks)
            self._count(chunk)
        except StopAsyncIteration:
            raise
        except Exception as error:
            self.failure = error
            raise
        return chunk

    def _count(self, chunk: bytes) -> None:
        self.size += len(chunk)
        if self._max is not None and self.size > self._max:
            raise ResourceExhausted(f"The file is larger than {self._max} bytes", reason="OBJECT_TOO_LARGE")
        self.hash.update(chunk)


def _domain_error(error: Exception, key: str) -> Exception:
    if isinstance(error, FileNotFoundError | obstore.exceptions.NotFoundError):
        return NotFound("Object not found", metadata={"key": key})
    return Unavailable("The artifact store is not available, try again", reason="STORE_UNAVAILABLE", retry_after=5.0)
