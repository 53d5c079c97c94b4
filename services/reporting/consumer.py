"""Inbound Kafka: parses batches of events and applies them."""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from services.chassis.events import Event, InvalidMessage, parse_each
from services.reporting.events import parse_event
from services.reporting.model.batch import Batch
from services.reporting.usecases.projector import Projector

EXECUTION_EVENTS = "mobiletest.executor.v1.execution-events"
CATALOG_EVENTS = "mobiletest.catalog.v1.catalog-events"
TOPICS = {EXECUTION_EVENTS: 12, CATALOG_EVENTS: 6}  # partitions, for a topic that reporting creates


class EventHandler:
    """Applies batches of events, without those that can never be parsed."""

    def __init__(self, projector: Projector) -> None:
        self._projector = projector

    async def handle(self, events: Sequence[Event]) -> list[InvalidMessage]:
        """Apply all events or, on an error, none of them. Gives those that cannot be parsed, to be dead-lettered."""
        with _pause_collections():
            snapshots, invalid = parse_each(events, parse_event)
            await self._projector.apply_events(Batch.of(each for each in snapshots if each is not None))
        return invalid


@contextmanager
def _pause_collections() -> Iterator[None]:
    """No collection of cycles in this process inside the block: a batch has hundreds of thousands of objects and no
    cycle, and each collection of them would stop all threads for up to 90 ms.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
