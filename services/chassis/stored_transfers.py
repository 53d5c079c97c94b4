"""Transfers of stored objects: a caller with the same object store is told where to read or write a file, because gRPC
carries large ones at a fraction of the speed.
"""

from collections.abc import AsyncIterator, Iterable
from typing import Any

from google.api.httpbody_pb2 import HttpBody
from mobiletest.types.v1.stored_object_pb2 import StoredObject

from services.chassis.byte_ranges import FilePart
from services.chassis.object_store import CHUNK_BYTES

# The metadata of a call whose caller has the object store. A key is no secret: it opens nothing without the store.
READS_OBJECTS = ("x-reads-objects", "true")
WRITES_OBJECTS = ("x-writes-objects", "true")
_KEY = "x-object-key"


async def http_bodies(
    context: Any, content_type: str, chunks: AsyncIterator[bytes], *, key: str | None, part: FilePart | None
) -> AsyncIterator[HttpBody]:
    """The messages of a download of this part of an object; what fits into one message is sent in any case."""
    if key and part and part.end - part.start > CHUNK_BYTES and READS_OBJECTS in context.invocation_metadata():
        body = HttpBody(content_type=content_type)
        body.extensions.add().Pack(StoredObject(key=key, start=part.start, end=part.end))
        yield body
        return
    async for chunk in chunks:
        yield HttpBody(content_type=content_type, data=chunk)


def stored_object(body: HttpBody) -> StoredObject | None:
    """Where the bytes are that the body has not."""
    stored = StoredObject()
    return stored if any(extension.Unpack(stored) for extension in body.extensions) else None


def key_metadata(key: str) -> tuple[tuple[str, str], ...]:
    """The initial metadata of an upload that is accepted: where to write the file."""
    return ((_KEY, key),)


def object_key(metadata: Iterable[tuple[str, str | bytes]] | None) -> str | None:
    """The key in initial metadata."""
    return next((value for name, value in metadata or () if name == _KEY and isinstance(value, str)), None)
