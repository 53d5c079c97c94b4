"""A fold with a bug."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from services.chassis.mongo import Mongo
from services.reporting.model.projection import RowKeys
from services.reporting.model.tables import Tables
from services.reporting.ports import ProjectionTransaction
from services.reporting.storage.projections import MongoProjections


class FaultyProjections(MongoProjections):
    """Folds by a version with a bug: it cannot deal with one run, and finds out when all is written."""

    def __init__(self, mongo: Mongo, run_id: str) -> None:
        super().__init__(mongo)
        self._run_id = run_id

    async def transaction(self, work: Callable[[ProjectionTransaction], Awaitable[None]]) -> None:
        async def careless(transaction: ProjectionTransaction) -> None:
            await work(FaultyTransaction(transaction, self._run_id))

        await super().transaction(careless)


@dataclass
class FaultyTransaction:
    """A transaction that fails after its writes when they are about one run."""

    inner: ProjectionTransaction
    run_id: str

    async def load(self, tables: Tables, wanted: RowKeys) -> None:
        await self.inner.load(tables, wanted)

    async def save_runs(self, tables: Tables) -> None:
        await self.inner.save_runs(tables)

    async def save(self, tables: Tables) -> None:
        await self.inner.save(tables)
        if self.run_id in tables.runs.changed:
            raise KeyError("colour")
