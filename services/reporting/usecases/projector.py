"""Folding events into the read models, exactly once in effect."""

from services.chassis.errors import Aborted
from services.reporting.model.batch import Batch
from services.reporting.model.catalog_copies import copy_catalog
from services.reporting.model.projection import DEFAULT_RULES, Rules, contribute, required_rows
from services.reporting.model.run_changes import apply_runs
from services.reporting.model.storms import settle_storms
from services.reporting.model.tables import Tables
from services.reporting.ports import Projections, ProjectionTransaction, RowKeys

UNBOUNDED = 1 << 30


class Projector:
    """Applies batches. A batch that was applied before, wholly or in part, changes nothing the second time."""

    def __init__(self, folds: Projections, rules: Rules = DEFAULT_RULES) -> None:
        self._folds = folds
        self._rules = rules
        self._room = UNBOUNDED

    async def apply_events(self, batch: Batch) -> None:
        """Fold the batch in memory and apply it in one transaction, with the revisions that make a repeat a no-op.

        One that the database does not take as a whole is applied in halves, and what comes next had better be smaller.
        """
        if not batch:
            return
        try:
            await self._folds.transaction(lambda transaction: self._apply(transaction, batch))
        except Aborted:
            if len(batch) == 1:
                raise
            self._room = max(1, len(batch) // 2)
            for half in batch.halves():
                await self.apply_events(half)
        else:
            self._room += 1 + len(batch) // 100

    def room(self) -> int:
        """How many snapshots a batch had better not exceed: half of what was not taken, and slowly more again."""
        return self._room

    async def _apply(self, transaction: ProjectionTransaction, batch: Batch) -> None:
        tables = Tables()
        await transaction.load(tables, _told(batch))
        steps = apply_runs(tables, batch.runs.values())
        settled = settle_storms(tables, batch.executions.values(), steps, self._rules.storm)
        needed = required_rows(steps, settled)
        await transaction.load(tables, RowKeys(cells=needed.cells, groups=needed.groups, histories=needed.histories))
        await transaction.save_runs(tables)
        contribute(tables, steps, settled, self._rules)
        copy_catalog(tables, batch)
        await transaction.save(tables)


def _told(batch: Batch) -> RowKeys:
    """What the batch tells about, and the executions of its runs."""
    return RowKeys(
        runs=batch.runs.keys(),
        executions={*batch.executions, *(run.execution_id for run in batch.runs.values())},
        apps=batch.apps.keys(),
        builds=batch.builds.keys(),
        tests=batch.tests.keys(),
        attachments=batch.attachments.keys(),
    )
