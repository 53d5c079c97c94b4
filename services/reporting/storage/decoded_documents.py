"""Documents as last decoded, by their bytes: a report that is read again has changed in few of them."""

from collections.abc import Callable, Iterator
from datetime import UTC
from functools import lru_cache
from typing import Any, Generic, TypeVar

import bson
from bson.codec_options import CodecOptions

from services.reporting.storage.subdocuments import Document

DOCUMENTS_KEPT, LARGEST_KEPT = 4096, 2048
"""Together they bound the bytes that are kept to 8 MiB, and the values to some three times as much."""
_CODEC: CodecOptions[Document] = CodecOptions(tz_aware=True, tzinfo=UTC)

T = TypeVar("T")


class DecodedDocuments(Generic[T]):
    """Decodes documents of one kind and keeps the newest DOCUMENTS_KEPT that are not too large."""

    def __init__(self, decode: Callable[[Document], T]) -> None:
        self._decode = decode
        self._kept = lru_cache(maxsize=DOCUMENTS_KEPT)(self._decoded)

    def read(self, batch: bytes) -> Iterator[T]:
        """The values of a batch of BSON. Equal documents may give one value, which nobody may change."""
        start = 0
        while start < len(batch):
            end = start + int.from_bytes(batch[start : start + 4], "little")
            raw = batch[start:end]
            yield self._kept(raw) if len(raw) <= LARGEST_KEPT else self._decoded(raw)
            start = end

    def _decoded(self, raw: bytes) -> T:
        document: dict[str, Any] = bson.decode(raw, _CODEC)
        return self._decode(document)
