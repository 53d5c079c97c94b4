"""Publishes generated events, and measures how far the replicas have processed them."""

from collections.abc import Iterator
from itertools import islice

from services.chassis.events import Event
from services.chassis.producer import Producer
from services.reporting.consumer import TOPICS
from tests.fault.reporting.event_delivery import delivered
from tests.fault.reporting.event_generator import EventGenerator
from tests.fault.reporting.replicas import Replicas

PIECE = 500
EVENTS_PER_RUN = 1.9


class EventLoad:
    """Publishes every generated event, each until it is acknowledged."""

    def __init__(self, replicas: Replicas, generator: EventGenerator) -> None:
        self._replicas = replicas
        self._generator = generator
        self.expected = int(EVENTS_PER_RUN * generator.runs)
        self.published = 0
        self.over = False

    async def publish(self) -> None:
        """All of it, as fast as the broker takes it."""
        events: Iterator[Event] = delivered(self._generator)
        async with Producer(self._replicas.broker.bootstrap, TOPICS, idempotence=False, timeout=30) as producer:
            while piece := list(islice(events, PIECE)):
                await self._acknowledged(producer, piece)
                self.published += len(piece)
        self.over = True

    async def _acknowledged(self, producer: Producer, events: list[Event]) -> None:
        while events:
            results = list(zip(events, await producer.publish(events), strict=True))
            good = [(event, result) for event, result in results if not isinstance(result, Exception)]
            self._replicas.published.note([event for event, _ in good], [result for _, result in good])
            events = [event for event, result in results if isinstance(result, Exception)]

    async def committed(self) -> int:
        """How many of the published events the replicas have dealt with."""
        return self.published - await self._replicas.behind()
