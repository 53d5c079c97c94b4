"""The read models in memory: a stand-in for MongoDB under the use-cases of reporting."""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol, TypeVar

from services.chassis.context import current
from services.reporting.model.attempts import BuildRef
from services.reporting.model.flaky import Assessment, Classification
from services.reporting.model.projection import RowKeys
from services.reporting.model.reports.apps import VerdictCount
from services.reporting.model.snapshots import AppSnapshot, AttachmentSnapshot, BuildSnapshot, Outcome, TestSnapshot
from services.reporting.model.tables import Cell, CellKey, RunRow, Table, Tables
from services.reporting.ports import Counts, Page, ProjectionTransaction

TABLES = ("runs", "executions", "cells", "groups", "histories", "apps", "builds", "tests", "attachments")
K = TypeVar("K")
V = TypeVar("V")


class Owned(Protocol):
    """A row of an organisation."""

    @property
    def org_id(self) -> str: ...


O = TypeVar("O", bound=Owned)  # noqa: E741


class FakeProjections:
    """Keeps `tables`; `lost_races` makes the next transactions run their work once more, as a conflict does."""

    def __init__(self, tables: Tables | None = None) -> None:
        self.tables = tables or Tables()
        self.lost_races = 0
        self.saved = 0

    async def transaction(self, work: Callable[[ProjectionTransaction], Awaitable[None]]) -> None:
        while self.lost_races:
            self.lost_races -= 1
            await work(FakeTransaction(self.tables))
        transaction = FakeTransaction(self.tables)
        await work(transaction)
        transaction.commit()
        self.saved += 1


class FakeTransaction:
    """Reads from the tables given, and writes to them when it is committed."""

    def __init__(self, stored: Tables) -> None:
        self._stored = stored
        self._saved: list[Tables] = []

    async def load(self, tables: Tables, wanted: RowKeys) -> None:
        for name in TABLES:
            stored: Table[object, object] = getattr(self._stored, name)
            keys: Collection[object] = getattr(wanted, name)
            getattr(tables, name).load((key, row) for key in keys if (row := stored.get(key)) is not None)

    async def save_runs(self, tables: Tables) -> None:
        """They are saved with the rest."""

    async def save(self, tables: Tables) -> None:
        self._saved.append(tables)

    def commit(self) -> None:
        """Put what was saved."""
        for tables in self._saved:
            self._put(tables)

    def _put(self, tables: Tables) -> None:
        for name in TABLES:
            for key, row in getattr(tables, name).changes():
                getattr(self._stored, name).put(key, row)
            for key in getattr(tables, name).dropped():
                getattr(self._stored, name).drop(key)
        for key, amounts in tables.counters.changes():
            fields = self._stored.counters.get(key) or {}
            together = {name: fields.get(name, 0) + amounts.get(name, 0) for name in {**fields, **amounts}}
            self._stored.counters.put(key, together)


class FakeReadModels:
    """Looks up `tables` by going through them, for the caller's organisation."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def app(self, app_id: str) -> AppSnapshot | None:
        return _by_id(self._tables.apps, [app_id]).get(app_id)

    async def counters(self, names: Collection[str], fields: Collection[str] = ()) -> Counts:
        rows = self._tables.counters.rows()
        found = {name: row for (org_id, name), row in rows if org_id == current().org_id and name in names}
        return {name: {key: row[key] for key in fields or row if key in row} for name, row in found.items()}

    async def builds(self, app_id: str, page: Page) -> Sequence[BuildSnapshot]:
        found = [
            build
            for build in _own(self._tables.builds)
            if build.app_id == app_id and not build.deleted and _follows(page, build.uploaded_at)
        ]
        found.sort(key=lambda build: (build.uploaded_at, build.build_id), reverse=True)
        return found[page.skip : page.skip + page.limit]

    async def builds_of_versions(self, app_id: str, versions: Collection[str]) -> Sequence[BuildSnapshot]:
        found = await self.builds(app_id, Page(0, 1 << 30))
        return [build for build in found if build.version in versions]

    async def builds_by_id(self, build_ids: Collection[str]) -> Mapping[str, BuildSnapshot]:
        return _by_id(self._tables.builds, build_ids)

    async def tests_by_id(self, test_ids: Collection[str]) -> Mapping[str, TestSnapshot]:
        return _by_id(self._tables.tests, test_ids)

    async def attachments(self, app_id: str) -> Sequence[AttachmentSnapshot]:
        return [item for item in _own(self._tables.attachments) if item.app_id == app_id and item.attached]

    async def verdicts(
        self, app_id: str, build_ids: Collection[str], test_ids: Collection[str]
    ) -> Sequence[VerdictCount]:
        counted = Counter(
            (build_id, cell.verdict.outcome is Outcome.PASSED)
            for (_, test_id, build_id), cell in (await self.cells_of_builds(app_id, build_ids)).items()
            if cell.verdict and test_id in test_ids
        )
        return [VerdictCount(build_id, passed, tests) for (build_id, passed), tests in counted.items()]

    async def cells_of_builds(self, app_id: str, build_ids: Collection[str]) -> Mapping[CellKey, Cell]:
        cells = _owned_rows(self._tables.cells)
        return {key: replace(cell, active={}) for key, cell in cells if key[0] == app_id and key[2] in build_ids}

    async def cells(self, keys: Collection[CellKey]) -> Mapping[CellKey, Cell]:
        return _by_id(self._tables.cells, keys)

    async def assessments(
        self, app_id: str, test_ids: Collection[str], only: Classification | None = None
    ) -> Mapping[str, Assessment]:
        rows = _owned_rows(self._tables.histories)
        found = {key[1]: row.assessment for key, row in rows if key[0] == app_id and key[1] in test_ids}
        return {test: one for test, one in found.items() if only in (None, one.classification)}

    async def observed(self, app_id: str, test_ids: Collection[str]) -> Mapping[str, BuildRef]:
        rows = _owned_rows(self._tables.histories)
        return {
            key[1]: row.observed
            for key, row in rows
            if key[0] == app_id and key[1] in test_ids and row.observed is not None
        }

    async def runs_of_build(self, build_id: str, page: Page) -> Sequence[bytes]:
        return _page([(k, run) for k, run in _owned_rows(self._tables.runs) if run.build_id == build_id], page)

    async def runs_of_test(self, test_id: str, page: Page) -> Sequence[bytes]:
        return _page([(k, run) for k, run in _owned_rows(self._tables.runs) if run.test_id == test_id], page)


def _page(runs: list[tuple[str, RunRow]], page: Page) -> list[bytes]:
    listed = [
        (row.listed_at, run_id, row.list_item)
        for run_id, row in runs
        if row.listed_at and _follows(page, row.listed_at)
    ]
    listed.sort(reverse=True)
    return [item for _, _, item in listed[page.skip : page.skip + page.limit]]


def _follows(page: Page, at: datetime) -> bool:
    return page.before is None or at < page.before


def _owned_rows(table: Table[K, O]) -> Iterable[tuple[K, O]]:
    return [(key, row) for key, row in table.rows() if row.org_id == current().org_id]


def _own(table: Table[K, O]) -> list[O]:
    return [row for _, row in _owned_rows(table)]


def _by_id(table: Table[K, O], keys: Collection[K]) -> dict[K, O]:
    return {key: row for key, row in _owned_rows(table) if key in keys}
