"""An outbox with its relay, and a consumer that sees what arrives."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from mobiletest.catalog.v1 import apps_pb2

from services.chassis.events import Event
from services.chassis.lifecycle import Background
from services.chassis.migrations import open_migrated
from services.chassis.mongo import Mongo, Session
from services.chassis.outbox import MIGRATION, OUTBOX, Outbox
from services.chassis.outbox_relay import OutboxRelay, RelayIntervals
from services.chassis.producer import Producer
from tests.integration.chassis.consuming import consuming

INTERVALS = RelayIntervals(sweep=0.05, leftover_age=0.2, follow=0.1, lease=2.0, after_failure=0.1)
NEVER = 3600.0
PARTITIONS = 3


@dataclass
class OutboxHarness:
    """One process with an outbox, as its tests need it."""

    mongo: Mongo
    outbox: Outbox
    producer: Producer
    background: Background
    topic: str
    arrived: list[str] = field(default_factory=list)
    sequences: list[int] = field(default_factory=list)

    async def write(self, *keys: str, fast: bool = True) -> None:
        """One event per key in one transaction; `fast`: handed over to the relay, as a service does."""
        events = [self.outbox.event(self.topic, key, apps_pb2.App(name=key), subject=key) for key in keys]

        async def work(session: Session) -> None:
            await self.outbox.add(session, events)

        await self.mongo.transaction(work)
        if fast:
            self.outbox.publish_soon(events)

    async def pending(self) -> int:
        return int(await self.mongo.collection(OUTBOX).count_documents({"pending": True}))

    async def all_sent(self) -> bool:
        return await self.pending() == 0

    def relay(self, intervals: RelayIntervals = INTERVALS) -> OutboxRelay:
        return OutboxRelay(self.mongo, self.outbox, self.producer, intervals=intervals)

    @asynccontextmanager
    async def relaying(self, intervals: RelayIntervals = INTERVALS) -> AsyncIterator[None]:
        async with self.background.run("relay", self.relay(intervals).run()):
            yield

    @asynccontextmanager
    async def consuming(self) -> AsyncIterator[None]:
        async def handle(events: list[Event]) -> None:
            self.arrived += [event.key for event in events]
            self.sequences += [event.sequence for event in events]

        async with consuming(self.producer, self.topic, handle):
            yield


@asynccontextmanager
async def outbox_harness(
    mongo_uri: str, database: str, bootstrap: str, topic: str, *, publish_seconds: float = 60.0
) -> AsyncIterator[OutboxHarness]:
    """A harness whose relay and consumer do not run yet. `publish_seconds`: how long to wait for a broker."""
    async with (
        open_migrated(mongo_uri, database, [MIGRATION]) as mongo,
        Producer(bootstrap, {topic: PARTITIONS}, idempotence=False, timeout=publish_seconds) as producer,
        Background() as background,
    ):
        yield OutboxHarness(mongo, Outbox(mongo, "tests"), producer, background, topic)
