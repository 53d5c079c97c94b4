"""Publishes the outbox: at once what this process committed, by sweeps what was left over or what the broker lost."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic
from typing import Any
from uuid import uuid4

from aiokafka.errors import KafkaError
from pymongo import UpdateOne
from pymongo.errors import PyMongoError

from services.chassis import logs, metrics
from services.chassis.clock import Clock, SystemClock
from services.chassis.events import Event
from services.chassis.leases import Lease
from services.chassis.mongo import Mongo
from services.chassis.outbox import OUTBOX, Outbox, to_event
from services.chassis.producer import Producer, PublishResult
from services.chassis.topics import Mark, lost

BATCH = 500
NEWEST_BY_PLACE: list[dict[str, Any]] = [
    {"$match": {"place": {"$gte": ""}}},
    {"$sort": {"place": 1, "offset": -1}},
    {
        "$group": {
            "_id": "$place",
            "topic": {"$first": "$topic"},
            "partition": {"$first": "$partition"},
            "offset": {"$first": "$offset"},
            "id": {"$first": "$_id"},
        }
    },
]

log = logs.get(__name__)

_pending = metrics.gauge("mobiletest_outbox_pending", "Rows that wait to be published")
_oldest = metrics.gauge("mobiletest_outbox_oldest_seconds", "Age of the oldest row that waits")
_failures = metrics.counter("mobiletest_outbox_publish_failures_total", "Publications that failed")
_republished = metrics.counter("mobiletest_outbox_republished_total", "Rows marked again after the broker lost them")


@dataclass(frozen=True, slots=True)
class RelayIntervals:
    """How often the relay does what, in seconds."""

    sweep: float = 1.0
    leftover_age: float = 1.0
    check: float = 10.0
    lease: float = 10.0
    after_failure: float = 1.0


class OutboxRelay:
    """One per process with an outbox; run it in the background."""

    def __init__(
        self,
        mongo: Mongo,
        outbox: Outbox,
        producer: Producer,
        *,
        pace: RelayIntervals = RelayIntervals(),
        clock: Clock | None = None,
    ) -> None:
        self._mongo = mongo
        self._rows = mongo.collection(OUTBOX)
        self._outbox = outbox
        self._producer = producer
        self._pace = pace
        self._clock = clock or SystemClock()
        self._lease = Lease(mongo, "outbox-sweeper", str(uuid4()), seconds=pace.lease)
        self._closed_until = 0.0
        self._checked_at = float("-inf")
        self._connection = 0
        self._checking = asyncio.Lock()

    async def run(self) -> None:
        """Publish until cancelled. Outages of MongoDB or Kafka are waited for."""
        async with asyncio.TaskGroup() as both:
            both.create_task(self._publish_fresh())
            both.create_task(self._sweep_on())

    async def _publish_fresh(self) -> None:
        queue = self._outbox.fresh
        while True:
            events = [await queue.get()]
            while not queue.empty() and len(events) < BATCH:
                events.append(queue.get_nowait())
            if monotonic() >= self._closed_until:
                await self._publish(events)

    async def _sweep_on(self) -> None:
        while True:
            try:
                await self._turn()
            except (PyMongoError, KafkaError, OSError, TimeoutError) as error:
                log.warning("outbox_sweep_failed", error=repr(error))
            await asyncio.sleep(self._pace.sweep)

    async def _turn(self) -> None:
        leads = await self._lease.acquire()
        if leads:
            await self._measure()
        await self._checked_connection()
        if leads:
            await self.sweep()

    async def sweep(self) -> None:
        """Publish all that was left over, and look from time to time whether the broker still has the rest."""
        if monotonic() - self._checked_at >= self._pace.check:
            await self.check()
        while await self._publish_leftovers() == BATCH:
            await self._lease.acquire()

    async def check(self) -> int:
        """Look whether the broker still has what it was given; how many rows wait again because it has not.

        The newest row sent to each topic-partition is the watermark. A broker without it has lost its log, and all that
        is retained of that partition is published again. Consumers are idempotent.
        """
        marks = await self._watermarks()
        gone = await lost(self._producer.bootstrap, marks) if marks else []
        again = sum([await self._mark_lost(mark) for mark in gone])
        self._checked_at = monotonic()
        return again

    async def _publish_leftovers(self) -> int:
        before = self._clock.now() - timedelta(seconds=self._pace.leftover_age)
        query = {"pending": True, "time": {"$lte": before}}
        rows = await self._rows.find(query).sort("time", 1).limit(BATCH).to_list(None)
        return await self._publish([to_event(row) for row in rows]) if rows else 0

    async def _publish(self, events: Sequence[Event]) -> int:
        """Publish and mark; how many were acknowledged. After a failure the fast path rests for a moment."""
        try:
            connection = await self._checked_connection()
            results = await self._producer.publish(events, connection=connection)
        except (PyMongoError, KafkaError, OSError, TimeoutError) as error:
            connection, results = 0, [error] * len(events)
        sent = [(e, r) for e, r in zip(events, results, strict=True) if isinstance(r, PublishResult)]
        if len(sent) < len(events):
            self._failed(results)
        if connection == self._producer.connections:
            await self._mark(sent)
        return len(sent)

    async def _checked_connection(self) -> int:
        """The producer's connection, on which nothing is published before the watermarks were looked at:

        on a broker that came back empty, new rows would soon lie beyond them and hide the loss.
        """
        async with self._checking:
            connection = await self._producer.connect()
            if connection != self._connection:
                await self.check()
                self._connection = connection
            return connection

    def _failed(self, results: Sequence[PublishResult | Exception]) -> None:
        errors = [result for result in results if isinstance(result, Exception)]
        _failures.inc(len(errors))
        self._closed_until = monotonic() + self._pace.after_failure
        log.warning("outbox_publish_failed", count=len(errors), error=repr(errors[0]))

    async def _mark(self, sent: Sequence[tuple[Event, PublishResult]]) -> None:
        now = self._clock.now()
        updates = [
            UpdateOne({"_id": event.id}, {"$set": _sent(event, at, now), "$unset": {"pending": ""}})
            for event, at in sent
        ]
        if not updates:
            return
        try:
            await self._rows.bulk_write(updates, ordered=False)
        except PyMongoError as error:
            log.warning("outbox_mark_failed", error=repr(error))

    async def _watermarks(self) -> list[Mark]:
        rows = await self._mongo.aggregate(OUTBOX, NEWEST_BY_PLACE)
        return [Mark(row["topic"], row["partition"], row["offset"], row["id"]) for row in rows]

    async def _mark_lost(self, mark: Mark) -> int:
        again = {"$set": {"pending": True}, "$unset": {"sent_at": "", "place": "", "partition": "", "offset": ""}}
        result = await self._rows.update_many({"place": _place(mark.topic, mark.partition)}, again)
        log.warning("broker_lost_its_log", topic=mark.topic, partition=mark.partition, rows=result.modified_count)
        _republished.inc(result.modified_count)
        return int(result.modified_count)

    async def _measure(self) -> None:
        _pending.set(await self._rows.count_documents({"pending": True}, limit=100_000))
        oldest = await self._rows.find_one({"pending": True}, {"time": 1}, sort=[("time", 1)])
        _oldest.set((self._clock.now() - oldest["time"]).total_seconds() if oldest else 0)


def _sent(event: Event, at: PublishResult, now: datetime) -> dict[str, object]:
    place = _place(event.topic, at.partition)
    return {"sent_at": now, "place": place, "partition": at.partition, "offset": at.offset}


def _place(topic: str, partition: int) -> str:
    return f"{topic}/{partition}"
