"""Consumers on a group without a broker."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiokafka import ConsumerRecord

from services.chassis.consumer import Consumer, Handler
from services.chassis.dead_letters.limit import DlqLimit
from services.chassis.events import Event, InvalidMessage
from tests.fakes.chassis import FakeClock, FakeGroupMember, FakeProducer, record_of
from tests.unit.chassis.samples import an_event


def make_consumer(
    member: FakeGroupMember, handler: Handler, producer: FakeProducer, clock: FakeClock, **limits: Any
) -> Consumer:
    """A consumer that stops when its member has no more records."""
    consumer = Consumer(
        ["t"],
        "g",
        handler,
        kafka="nowhere:1",
        instance_id=None,
        dlq=producer,  # type: ignore[arg-type]
        clock=clock,
        join=member.join,  # type: ignore[arg-type]
        **limits,
    )
    member.on_empty, member.end_rest = consumer.stop, consumer.wake
    return consumer


@dataclass
class Bench:
    """A consumer over given records, with a handler that raises what `failures` says before it takes a batch."""

    records: list[ConsumerRecord]
    failures: list[Exception] = field(default_factory=list)
    bad: set[str] = field(default_factory=set)
    producer: FakeProducer = field(default_factory=FakeProducer)
    capacity: Callable[[], int] | None = None
    handler: Handler | None = None
    dlq_limit: DlqLimit | None = None
    batches: list[list[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clock = FakeClock()
        self.member = FakeGroupMember(list(self.records), self.clock)
        self.consumer = self.made()

    def made(self) -> Consumer:
        limits = {"capacity": self.capacity, "dlq_limit": self.dlq_limit}
        return make_consumer(self.member, self.handler or self.handle, self.producer, self.clock, **limits)

    async def handle(self, events: list[Event]) -> None:
        if self.failures:
            raise self.failures.pop(0)
        if any(event.id in self.bad for event in events):
            raise InvalidMessage("REFUSED", "no such thing")
        self.batches.append([event.id for event in events])


def records(*ids: str) -> list[ConsumerRecord]:
    return [record_of(an_event(id_=id_), offset) for offset, id_ in enumerate(ids)]
