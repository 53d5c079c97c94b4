"""Documents of a batch of BSON give the values that were written, whether kept from an earlier batch or not."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import bson
import pytest

from services.chassis.context import Caller, bind
from services.chassis.errors import InvalidArgument
from services.chassis.org_collection import OrgCollection, split_batch
from services.reporting.model.snapshots import Outcome
from services.reporting.model.tables import Cell, CellKey, LastRun
from services.reporting.storage.decoded_documents import LARGEST_KEPT, MOST_BYTES, DecodedDocuments, find_documents
from services.reporting.storage.documents import CELLS, decode_cell, document_id

AT = datetime(2026, 11, 24, 9, 30, tzinfo=UTC)
RUN = LastRun(AT, "run-1", "execution-1", Outcome.PASSED, 1.5)
CELL = Cell("org-1", AT, passed=2, test_name="Pay", last_run=RUN, verdict=RUN)


def batch(*cells: Cell) -> bytes:
    rows = [(key(number), cell) for number, cell in enumerate(cells)]
    documents = [{"_id": document_id(known), **CELLS.encode(known, cell)} for known, cell in rows]
    return b"".join(map(bson.encode, documents))


def key(number: int) -> CellKey:
    return ("app-1", "test-1", f"build-{number}")


def test_a_batch_gives_its_cells_in_order() -> None:
    decoded = DecodedDocuments(decode_cell)
    cells = [CELL, replace(CELL, test_name="x" * LARGEST_KEPT), replace(CELL, last_run=None, verdict=None)]
    for _ in range(2):
        assert list(map(decoded.decode, split_batch(batch(*cells)))) == [
            (key(number), cell) for number, cell in enumerate(cells)
        ]
    assert list(split_batch(b"")) == []


def test_a_document_that_did_not_change_gives_the_same_value() -> None:
    decoded = DecodedDocuments(decode_cell)
    first, again = (decoded.decode(batch(CELL)) for _ in range(2))
    assert first is again


def test_a_changed_cell_is_decoded_again() -> None:
    decoded = DecodedDocuments(decode_cell)
    assert decoded.decode(batch(CELL)) == (key(0), CELL)
    changed = replace(CELL, passed=3)
    assert decoded.decode(batch(changed)) == (key(0), changed)


@dataclass
class FakeMongo:
    """A database and its collection, in which every query finds documents in so many batches."""

    batches: int
    sent: int = 0

    def collection(self, _: str) -> "FakeMongo":
        return self

    async def find_raw_batches(self, *_: Any, **__: Any) -> AsyncIterator[bytes]:
        raw = bson.encode({"_id": 1, "text": "x" * 1024**2})
        while self.sent < self.batches:
            self.sent += 1
            yield raw * 4


async def test_a_lookup_reads_no_more_than_a_process_has_memory_for() -> None:
    enough, many = MOST_BYTES // 1024**2 // 4 - 1, MOST_BYTES // 1024**2
    few: Any = FakeMongo(enough)
    large: Any = FakeMongo(many)
    with bind(Caller("org-1")):
        assert len(await find_documents(OrgCollection(few, "cells"), {})) == 4 * enough
        with pytest.raises(InvalidArgument, match="more than 32 MiB: ask for less at once"):
            await find_documents(OrgCollection(large, "cells"), {})
    assert large.sent == enough + 1
