"""Projections that begin with nothing, for what happens before storage."""

from collections.abc import Awaitable, Callable

from services.chassis.errors import Aborted
from services.reporting.model.projection import RowKeys
from services.reporting.model.tables import Tables
from services.reporting.ports import ProjectionTransaction


class RecordingProjections:
    """Keeps what each transaction saved. One with more than `most` runs is aborted, as MongoDB does."""

    def __init__(self, most: int = 1000) -> None:
        self.saved: list[Tables] = []
        self._most = most

    async def transaction(self, work: Callable[[ProjectionTransaction], Awaitable[None]]) -> None:
        recorded = RecordedTransaction()
        await work(recorded)
        if len(recorded.tables.runs.changed) > self._most:
            raise Aborted("too large")
        self.saved.append(recorded.tables)


class RecordedTransaction:
    """Finds no rows, and keeps the tables that are saved."""

    tables = Tables()

    async def load(self, tables: Tables, wanted: RowKeys) -> None:
        """There is nothing."""

    async def save_runs(self, tables: Tables) -> None:
        """They are saved with the rest."""

    async def save(self, tables: Tables) -> None:
        self.tables = tables
