"""Publishes the outbox: at once what this process committed, by sweeps what was left over or what the broker lost."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic
from typing import Any
from uuid import uuid4

from aiokafka.errors import KafkaError
from pymongo import UpdateOne
from pymongo.errors import PyMongoError

from services.chassis import logs, metrics
from services.chassis.clock import Clock, SystemClock
from services.chassis.events import Event
from services.chassis.kafka import Producer, PublishResult
from services.chassis.leases import Lease
from services.chassis.mongo import Mongo
from services.chassis.outbox import OUTBOX, Outbox, to_event

BATCH = 500

log = logs.get(__name__)

_pending = metrics.gauge("mobiletest_outbox_pending", "Rows that wait to be published")
_oldest = metrics.gauge("mobiletest_outbox_oldest_seconds", "Age of the oldest row that waits")
_failures = metrics.counter("mobiletest_outbox_publish_failures_total", "Publications that failed")
_republished = metrics.counter("mobiletest_outbox_republished_total", "Rows marked again after the broker lost them")


@dataclass(frozen=True, slots=True)
class Pace:
    """How often the relay does what, in seconds."""

    sweep: float = 1.0
    leftover_age: float = 1.0
    watermark: float = 5.0
    lease: float = 10.0
    after_failure: float = 1.0


class Relay:
    """One per process with an outbox; run it in the background."""

    def __init__(
        self, mongo: Mongo, outbox: Outbox, producer: Producer, *, pace: Pace = Pace(), clock: Clock | None = None
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
                if await self._lease.acquire():
                    await self.sweep()
            except (PyMongoError, KafkaError, OSError, TimeoutError) as error:
                log.warning("outbox_sweep_failed", error=repr(error))
            await asyncio.sleep(self._pace.sweep)

    async def sweep(self) -> None:
        """Publish what was left over, and look from time to time whether the broker still has what it was given."""
        if monotonic() - self._checked_at >= self._pace.watermark:
            await self.check_watermarks()
            self._checked_at = monotonic()
        while await self._publish_leftovers() == BATCH:
            await self._lease.acquire()
        await self._measure()

    async def _publish_leftovers(self) -> int:
        before = self._clock.now() - timedelta(seconds=self._pace.leftover_age)
        query = {"pending": True, "time": {"$lte": before}}
        rows = await self._rows.find(query).sort("time", 1).limit(BATCH).to_list(None)
        return await self._publish([to_event(row) for row in rows])

    async def _publish(self, events: Sequence[Event]) -> int:
        """Publish and mark; how many were acknowledged. After a failure the fast path rests for a moment."""
        if not events:
            return 0
        results = await self._producer.publish(events)
        sent = [(e, r) for e, r in zip(events, results, strict=True) if isinstance(r, PublishResult)]
        if len(sent) < len(events):
            _failures.inc(len(events) - len(sent))
            self._closed_until = monotonic() + self._pace.after_failure
            log.warning("outbox_publish_failed", count=len(events) - len(sent), error=repr(_first_error(results)))
        await self._mark(sent)
        return len(sent)

    async def _mark(self, sent: Sequence[tuple[Event, PublishResult]]) -> None:
        now = self._clock.now()
        updates = [
            UpdateOne(
                {"_id": event.id},
                {"$set": {"sent_at": now, "partition": at.partition, "offset": at.offset}, "$unset": {"pending": ""}},
            )
            for event, at in sent
        ]
        if not updates:
            return
        try:
            await self._rows.bulk_write(updates, ordered=False)
        except PyMongoError as error:
            log.warning("outbox_mark_failed", error=repr(error))

    async def check_watermarks(self) -> int:
        """Mark as waiting again what a topic-partition must have and has not; how many rows that were.

        The watermark is the highest offset among the rows sent to it. A broker whose end lies at or below it has lost
        its log, and all that is retained for that partition is published again. Consumers are idempotent.
        """
        marks = await self._watermarks()
        if not marks:
            return 0
        ends = await self._producer.end_offsets(sorted({topic for topic, _ in marks}))
        lost = [place for place, offset in marks.items() if ends.get(place, 0) <= offset]
        return sum([await self._mark_lost(*place) for place in lost])

    async def _watermarks(self) -> dict[tuple[str, int], int]:
        group = {"_id": {"topic": "$topic", "partition": "$partition"}, "offset": {"$max": "$offset"}}
        pipeline: list[dict[str, Any]] = [{"$match": {"offset": {"$gte": 0}}}, {"$group": group}]
        rows = await self._mongo.aggregate(OUTBOX, pipeline)
        return {(row["_id"]["topic"], row["_id"]["partition"]): row["offset"] for row in rows}

    async def _mark_lost(self, topic: str, partition: int) -> int:
        again = {"$set": {"pending": True}, "$unset": {"sent_at": "", "partition": "", "offset": ""}}
        result = await self._rows.update_many({"topic": topic, "partition": partition}, again)
        log.warning("broker_lost_its_log", topic=topic, partition=partition, rows=result.modified_count)
        _republished.inc(result.modified_count)
        return int(result.modified_count)

    async def _measure(self) -> None:
        _pending.set(await self._rows.count_documents({"pending": True}, limit=100_000))
        oldest = await self._rows.find_one({"pending": True}, {"time": 1}, sort=[("time", 1)])
        _oldest.set((self._clock.now() - oldest["time"]).total_seconds() if oldest else 0)


def _first_error(results: Sequence[PublishResult | Exception]) -> Exception | None:
    return next((result for result in results if isinstance(result, Exception)), None)
