"""Verdicts in memory: a stand-in for MongoDB under comparison and gate."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from services.chassis.context import current
from services.reporting.model.attempts import Attempt
from services.reporting.model.reports.breakage import BuildVerdict, PassQuery, SearchSide, VerdictQuery, build_verdict
from services.reporting.model.reports.gate import ExecutionProgress, GateRun
from services.reporting.model.snapshots import BuildSnapshot
from services.reporting.model.tables import CellKey, HistoryKey, Tables
from services.reporting.storage.verdicts import STORM_BUILDS_SKIPPED, gate_run


class FakeVerdicts:
    """Looks up `tables` by going through them, for the caller's organisation."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def of_cells(self, keys: Collection[CellKey]) -> Mapping[CellKey, BuildVerdict]:
        known = {key: cell for key, cell in self._tables.cells.rows() if cell.org_id == current().org_id}
        return {key: seen for key in keys & known.keys() if (seen := build_verdict(key, known[key]))}

    async def find(
        self, keys: Collection[CellKey], query: VerdictQuery, uploads: Mapping[CellKey, datetime] | None = None
    ) -> Mapping[CellKey, BuildVerdict]:
        known = {key: cell for key, cell in self._tables.cells.rows() if cell.org_id == current().org_id}
        found: dict[CellKey, BuildVerdict] = {}
        for key in keys & known.keys():
            own = (known[key].uploaded_at, key[2])
            there = [seen for seen in self._fitting(key, query) if _beside(seen.build_order, own, query.side)]
            there.sort(key=lambda seen: seen.build_order, reverse=query.side in (SearchSide.BEFORE, SearchSide.OTHER))
            calm = [seen for seen in there[: STORM_BUILDS_SKIPPED + 1] if query.storms or not self._in_storm(seen)]
            if calm:
                found[key] = calm[0]
        return found

    def _fitting(self, key: CellKey, query: VerdictQuery) -> Iterable[BuildVerdict]:
        for other, cell in self._tables.cells.rows():
            seen = build_verdict(other, cell) if other[:2] == key[:2] and cell.org_id == current().org_id else None
            if seen and seen.branch in query.branches and seen.verdict.outcome in query.outcomes:
                yield seen

    def _in_storm(self, seen: BuildVerdict) -> bool:
        execution = self._tables.executions.get(seen.verdict.execution_id)
        return seen.fails and execution is not None and execution.storm is True

    async def attempts(
        self, keys: Collection[HistoryKey], passes: Mapping[HistoryKey, PassQuery] | None = None
    ) -> Mapping[HistoryKey, Sequence[Attempt]]:
        rows = ((key, history) for key, history in self._tables.histories.rows() if key in keys)
        found = {key: history.attempts for key, history in rows if history.org_id == current().org_id}
        if passes is None:
            return found
        sought = {key: passes[key].fits for key in found.keys() & passes.keys()}
        return {key: found[key] for key, fits in sought.items() if any(map(fits, found[key]))}

    async def builds_before(self, build: BuildSnapshot, limit: int) -> Sequence[BuildSnapshot]:
        place = (build.uploaded_at, build.build_id)
        builds = [other for _, other in self._tables.builds.rows() if other.org_id == current().org_id]
        there = [other for other in builds if other.app_id == build.app_id and not other.deleted]
        earlier = [other for other in there if (other.uploaded_at, other.build_id) < place]
        return sorted(earlier, key=lambda other: (other.uploaded_at, other.build_id), reverse=True)[:limit]

    async def progress(self, execution_id: str) -> ExecutionProgress | None:
        row = self._tables.executions.get(execution_id)
        if row is None or row.org_id != current().org_id:
            return None
        return ExecutionProgress(row.total, row.finished, row.storm)

    async def runs_of_execution(self, execution_id: str) -> Sequence[GateRun]:
        rows = ((run_id, row) for run_id, row in self._tables.runs.rows() if row.org_id == current().org_id)
        names = ("test_id", "app_id", "build_id", "status", "listed_at", "list_item")
        return [
            gate_run({"_id": run_id} | {name: getattr(row, name) for name in names})
            for run_id, row in rows
            if row.execution_id == execution_id
        ]


def _beside(place: tuple[object, ...], own: tuple[object, ...], side: SearchSide) -> bool:
    match side:
        case SearchSide.BEFORE:
            return place < own
        case SearchSide.AFTER:
            return place > own
        case SearchSide.OTHER:
            return place[1] != own[1]
        case SearchSide.FIRST:
            return True
