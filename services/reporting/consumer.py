"""Inbound Kafka: batches of events to the fold."""

from collections.abc import Sequence

from services.chassis.events import Event, InvalidMessage, parse_each
from services.reporting.events import parse_event
from services.reporting.model.batch import Batch
from services.reporting.usecases import Projector

EXECUTION_EVENTS = "mobiletest.executor.v1.execution-events"
CATALOG_EVENTS = "mobiletest.catalog.v1.catalog-events"
TOPICS = {EXECUTION_EVENTS: 12, CATALOG_EVENTS: 6}  # partitions, should reporting be the first to ask for them


class EventHandler:
    """Hands batches to the fold, without the events that can never be folded."""

    def __init__(self, folding: Projector) -> None:
        self._folding = folding

    async def handle(self, events: Sequence[Event]) -> list[InvalidMessage]:
        """Fold the events; all or, on an error, none of them. Gives those that cannot be read."""
        told, refused = parse_each(events, parse_event)
        await self._folding.apply_events(Batch.of(each for each in told if each is not None))
        return refused
