"""A fold with a bug."""

from collections.abc import Awaitable, Callable

from services.chassis.mongo import Mongo
from services.reporting.model.projection import RowKeys
from services.reporting.model.tables import Tables
from services.reporting.ports import ProjectionTransaction
from services.reporting.storage.projections import MongoProjections


class FaultyProjections(MongoProjections):
    """Fails on one run, after everything of its batch is written."""

    def __init__(self, mongo: Mongo, run_id: str) -> None:
        super().__init__(mongo)
        self._run_id = run_id

    async def transaction(self, work: Callable[[ProjectionTransaction], Awaitable[None]]) -> None:
        async def fail_on_run(transaction: ProjectionTransaction) -> None:
            await work(transaction)
            written = Tables()
            await transaction.load(written, RowKeys(runs=[self._run_id]))
            if written.runs.get(self._run_id):
                raise KeyError("colour")

        await super().transaction(fail_on_run)
