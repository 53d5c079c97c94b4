"""Cells as last decoded, by their bytes: a matrix that is read again has changed in few of them."""

from collections.abc import Iterator
from datetime import UTC
from functools import lru_cache
from typing import Any

import bson
from bson.codec_options import CodecOptions

from services.reporting.model.tables import Cell, CellKey
from services.reporting.storage.documents import decode_cell
from services.reporting.storage.subdocuments import Document

CELLS_KEPT, LARGEST_KEPT = 4096, 2048
"""Together they bound the bytes that are kept to 8 MiB, and the cells to some three times as much."""
_CODEC: CodecOptions[Document] = CodecOptions(tz_aware=True, tzinfo=UTC)


def decode_cells(batch: bytes) -> Iterator[tuple[CellKey, Cell]]:
    """The cells of a batch of BSON documents. Equal documents may give one cell, which nobody may change."""
    start = 0
    while start < len(batch):
        end = start + int.from_bytes(batch[start : start + 4], "little")
        raw = batch[start:end]
        yield _kept(raw) if len(raw) <= LARGEST_KEPT else _decoded(raw)
        start = end


def _decoded(raw: bytes) -> tuple[CellKey, Cell]:
    document: dict[str, Any] = bson.decode(raw, _CODEC)
    return decode_cell(document)


_kept = lru_cache(maxsize=CELLS_KEPT)(_decoded)
