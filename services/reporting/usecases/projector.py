"""Folding events into the read models, with the effect of exactly once."""

from services.chassis.batcher import run_in_halves
from services.chassis.errors import Aborted
from services.reporting.model.batch import Batch, apply_runs
from services.reporting.model.projection import (
    DEFAULT_RULES,
    ProjectionRules,
    batch_rows,
    contribute,
    copy_catalog,
    required_rows,
)
from services.reporting.model.storms import settle_storms
from services.reporting.model.tables import Tables
from services.reporting.ports import Projections, ProjectionTransaction

UNBOUNDED = 1 << 30


class Projector:
    """Applies batches. Applying a batch again, in whole or in part, changes nothing."""

    def __init__(self, projections: Projections, rules: ProjectionRules = DEFAULT_RULES) -> None:
        self._projections = projections
        self._rules = rules
        self._capacity = UNBOUNDED

    async def apply_events(self, batch: Batch) -> None:
        """Fold the batch in one transaction; the revisions that it stores make a repeat a no-op.

        A batch that the database refuses as a whole is bisected, and the capacity shrinks.
        """
        if batch:
            await run_in_halves(batch, self._apply_part)

    async def _apply_part(self, batch: Batch) -> bool:
        """False if the database has refused the batch."""
        try:
            await self._projections.transaction(lambda transaction: self._apply(transaction, batch))
        except Aborted:
            if len(batch) == 1:
                raise
            self._capacity = max(1, len(batch) // 2)
            return False
        # Slowly, so that a database that refused a large batch is not offered the next one at once.
        self._capacity += 1 + len(batch) // 100
        return True

    def capacity(self) -> int:
        """How many snapshots a batch should have at most: half of what was refused, then slowly more."""
        return self._capacity

    async def _apply(self, transaction: ProjectionTransaction, batch: Batch) -> None:
        tables = Tables()
        await transaction.load(tables, batch_rows(batch))
        changes = apply_runs(tables, batch.runs.values())
        storms = settle_storms(tables, batch.executions.values(), changes, self._rules.storm)
        await transaction.load(tables, required_rows(changes, storms))
        # First, because nothing below changes runs: MongoDB writes them while the rest is folded.
        await transaction.save_runs(tables)
        contribute(tables, changes, storms, self._rules)
        copy_catalog(tables, batch)
        await transaction.save(tables)
