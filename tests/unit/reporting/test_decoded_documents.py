"""Documents of a batch of BSON give the values that were written, whether kept from an earlier batch or not."""

from dataclasses import replace
from datetime import UTC, datetime

import bson

from services.reporting.model.snapshots import Outcome
from services.reporting.model.tables import Cell, CellKey, LastRun
from services.reporting.storage.decoded_documents import LARGEST_KEPT, DecodedDocuments
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
        assert list(decoded.read(batch(*cells))) == [(key(number), cell) for number, cell in enumerate(cells)]
    assert list(decoded.read(b"")) == []


def test_a_document_that_did_not_change_gives_the_same_value() -> None:
    decoded = DecodedDocuments(decode_cell)
    first, again = (next(decoded.read(batch(CELL))) for _ in range(2))
    assert first is again


def test_a_changed_cell_is_decoded_again() -> None:
    decoded = DecodedDocuments(decode_cell)
    assert list(decoded.read(batch(CELL))) == [(key(0), CELL)]
    changed = replace(CELL, passed=3)
    assert list(decoded.read(batch(changed))) == [(key(0), changed)]
