"""The rows of a report: tests by name, of any number of cells."""

from collections.abc import Iterable, Mapping

from services.chassis.turns import in_turns, sorted_in_turns
from services.reporting.model.reports.matrix import row_names, row_order
from services.reporting.model.snapshots import AttachmentSnapshot, TestSnapshot
from services.reporting.model.tables import Cell, CellKey
from services.reporting.model.triages import TriageSnapshot
from services.reporting.model.variants import test_of
from services.reporting.ports import Failures


async def finished_cells(cells: Mapping[CellKey, Cell]) -> dict[CellKey, Cell]:
    """The cells with a finished run; others are shown as missing."""
    return {key: cell async for key, cell in in_turns(cells.items()) if cell.last_run is not None}


async def newest_cells(cells: Mapping[CellKey, Cell]) -> dict[str, Cell]:
    """By test, the one of its finished cells with the newest run."""
    newest: dict[str, Cell] = {}
    async for (_, subject, _), cell in in_turns(cells.items()):
        test_id = test_of(subject)
        if test_id not in newest or _recency(cell) > _recency(newest[test_id]):
            newest[test_id] = cell
    return newest


async def sorted_rows(
    attachments: Iterable[AttachmentSnapshot], newest: Mapping[str, Cell], tests: Mapping[str, TestSnapshot]
) -> list[tuple[str, str]]:
    """(test id, name) of all rows, by name; see `row_names`."""
    return await sorted_in_turns(row_names(attachments, newest, tests).items(), key=row_order)


async def triages_of_cells(failures: Failures, app_id: str, cells: Iterable[Cell]) -> dict[str, TriageSnapshot]:
    """By fingerprint, what people wrote about the failures of these cells of an app."""
    keys = {(app_id, group.fingerprint) async for cell in in_turns(cells) for group in cell.groups}
    return {fingerprint: triage for (_, fingerprint), triage in (await failures.triages(keys)).items()}


def _recency(cell: Cell) -> tuple[object, ...]:
    return cell.last_run.recency if cell.last_run else ()
