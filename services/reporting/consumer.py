"""Inbound Kafka: batches of events to the fold."""

from collections.abc import Sequence

from services.chassis.events import Event
from services.reporting.events import told_by
from services.reporting.model.batch import Batch
from services.reporting.usecases import Folding

EXECUTION_EVENTS = "mobiletest.executor.v1.execution-events"
CATALOG_EVENTS = "mobiletest.catalog.v1.catalog-events"
TOPICS = {EXECUTION_EVENTS: 12, CATALOG_EVENTS: 6}  # partitions, should reporting be the first to ask for them


class Intake:
    """Hands batches to the fold. InvalidMessage names an event that can never be folded, before any is applied."""

    def __init__(self, folding: Folding) -> None:
        self._folding = folding

    async def handle(self, events: Sequence[Event]) -> None:
        """Fold the events; all or, on an error, none of them."""
        await self._folding.apply_events(Batch.of(told for event in events if (told := told_by(event))))
