"""Decodes what is found in slices, between which others have their turns, and keeps documents as last decoded, by their
bytes: a report that is read again has changed in few of them.
"""

from collections.abc import Callable, Mapping
from datetime import UTC
from functools import lru_cache
from typing import Any, Generic, TypeVar

import bson
from bson.codec_options import CodecOptions

from services.chassis.org_collection import OrgCollection
from services.chassis.turns import list_in_turns
from services.reporting.storage.subdocuments import Document

# Of one lookup: decoded it takes some four times as much memory. An answer has at most half of that.
MOST_BYTES = 32 * 1024**2

# Together they bound the bytes that are kept to 8 MiB, and the values to some three times as much.
DOCUMENTS_KEPT, LARGEST_KEPT = 4096, 2048
_CODEC: CodecOptions[Document] = CodecOptions(tz_aware=True, tzinfo=UTC)

T = TypeVar("T")


class DecodedDocuments(Generic[T]):
    """Decodes documents of one kind and keeps the newest DOCUMENTS_KEPT that are not too large."""

    def __init__(self, decode: Callable[[Document], T]) -> None:
        self._decode = decode
        self._kept = lru_cache(maxsize=DOCUMENTS_KEPT)(self._decoded)

    def decode(self, raw: bytes) -> T:
        """The value of a document. Equal documents may give one value, which nobody may change."""
        return self._kept(raw) if len(raw) <= LARGEST_KEPT else self._decoded(raw)

    def _decoded(self, raw: bytes) -> T:
        return self._decode(decode_document(raw))


async def find_decoded(
    rows: OrgCollection, query: Mapping[str, Any], projection: Any, decode: Callable[[bytes], T], **options: Any
) -> list[T]:
    """What `decode` makes of the documents; `options` are the driver's (sort, skip, limit).

    The driver would decode thousands of them without a pause for others.

    Raises:
        InvalidArgument: they are larger than MOST_BYTES.
    """
    decoded: list[T] = []
    async for batch in rows.find_raw(query, projection, most=MOST_BYTES, **options):
        decoded += await list_in_turns(map(decode, batch))
    return decoded


async def find_documents(rows: OrgCollection, query: Mapping[str, Any], projection: Any = None) -> list[Document]:
    """See `find_decoded`."""
    return await find_decoded(rows, query, projection, decode_document)


def decode_document(raw: bytes) -> Document:
    document: Document = bson.decode(raw, _CODEC)
    return document
