"""Downloads of stored objects as google.api.HttpBody: their bytes, or where a caller with the same object store finds
them, because gRPC carries large files at a fraction of the speed.
"""

from collections.abc import AsyncIterator
from typing import Any

from google.api.httpbody_pb2 import HttpBody
from mobiletest.types.v1.stored_object_pb2 import StoredObject

from services.chassis.byte_ranges import FilePart
from services.chassis.object_store import CHUNK_BYTES

# The metadata of a call whose caller has the object store. A key is no secret: it opens nothing without the store.
READS_OBJECTS = ("x-reads-objects", "true")


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
