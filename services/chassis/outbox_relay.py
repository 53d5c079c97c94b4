"""Publishes the outbox: new events as soon as they are committed, the remaining ones in periodic sweeps."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import monotonic
from uuid import uuid4

from pymongo.errors import PyMongoError

from services.chassis import logs, metrics
from services.chassis.clock import Clock, SystemClock
from services.chassis.leases import MongoLease
from services.chassis.mongo import Document, Mongo
from services.chassis.outbox import OUTBOX, Outbox, OutboxRow, to_events
from services.chassis.producer import Producer, PublishResult
from services.chassis.retry import log_transient

BATCH = 500
MAX_COUNTED = 100_000
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)

log = logs.get(__name__)

_pending = metrics.LeaderGauge("mobiletest_outbox_pending", "Events that wait to be published")
_oldest = metrics.LeaderGauge("mobiletest_outbox_oldest_seconds", "Age of the oldest event that waits to be published")
_failures = metrics.counter("mobiletest_outbox_publish_failures_total", "Publications that failed")


@dataclass(frozen=True, slots=True)
class RelayIntervals:
    """All in seconds. `leftover_age`: an event that has waited for longer is published by the sweep. `follow`: between
    the attempts to take the lease while another process has it. So sweeps go on `lease` and `follow` after that
    process was lost.
    """

    sweep: float = 1.0
    leftover_age: float = 1.0
    follow: float = 3.0
    lease: float = 10.0
    after_failure: float = 1.0


class OutboxRelay:
    """One per process with an outbox; run it in the background. A lease lets one process sweep at a time."""

    def __init__(
        self,
        mongo: Mongo,
        outbox: Outbox,
        producer: Producer,
        *,
        intervals: RelayIntervals = RelayIntervals(),
        clock: Clock | None = None,
    ) -> None:
        self._mongo = mongo
        self._rows = mongo.collection(OUTBOX)
        self._outbox = outbox
        self._producer = producer
        self._intervals = intervals
        self._clock = clock or SystemClock()
        self._lease = MongoLease(mongo, "outbox-sweeper", str(uuid4()), seconds=intervals.lease)
        self._paused_until = 0.0

    async def run(self) -> None:
        """Publish until cancelled. Outages of MongoDB or Kafka are waited for."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._publish_new())
            group.create_task(self._sweep_on())

    async def sweep(self) -> bool:
        """Publish all that has waited too long; False if another process holds the lease."""
        if not await self._lease.acquire():
            _pending.clear()
            _oldest.clear()
            return False
        if await self._measure() > self._intervals.leftover_age:
            while await self._publish_leftovers() == BATCH:
                # A long backlog takes longer than the lease lasts.
                await self._lease.acquire()
        return True

    async def _sweep_on(self) -> None:
        while True:
            pause = self._intervals.sweep
            with log_transient(log, "outbox_sweep_failed", transient=_passes):
                if not await self.sweep():
                    pause = self._intervals.follow
            await asyncio.sleep(pause)

    async def _publish_new(self) -> None:
        while True:
            rows = await self._outbox.take_fresh(BATCH)
            # Rows taken during a pause are dropped: they are stored, and the sweep publishes them.
            if monotonic() >= self._paused_until:
                await self._publish(rows)

    async def _publish_leftovers(self) -> int:
        before = self._clock.now() - timedelta(seconds=self._intervals.leftover_age)
        query = {"pending": True, "time": {"$lte": before}}
        rows = await self._rows.find(query).sort("time", 1).limit(BATCH).to_list(None)
        return await self._publish([OutboxRow(to_events(row)) for row in rows]) if rows else 0

    async def _publish(self, rows: Sequence[OutboxRow]) -> int:
        """Publish and mark as sent; how many rows were. After a failure new rows are left to the sweep."""
        events = [event for row in rows for event in row.events]
        results = await self._producer.publish(events)
        failures = [result for result in results if isinstance(result, Exception)]
        if failures:
            _failures.inc(len(failures))
            self._paused_until = monotonic() + self._intervals.after_failure
            log.warning("outbox_publish_failed", count=len(failures), error=repr(failures[0]))
        sent = {event.id for event, result in zip(events, results, strict=True) if isinstance(result, PublishResult)}
        # A row of which only some events were sent is sent again as a whole: consumers ignore revisions that they have.
        complete = [row.id for row in rows if all(event.id in sent for event in row.events)]
        await self._mark_sent(complete)
        return len(complete)

    async def _mark_sent(self, ids: Sequence[str]) -> None:
        if not ids:
            return
        change = {"$set": {"sent_at": self._clock.now()}, "$unset": {"pending": ""}}
        try:
            await self._rows.update_many({"_id": {"$in": ids}}, change)
        except PyMongoError as error:
            log.warning("outbox_mark_failed", error=repr(error))

    async def _measure(self) -> float:
        """Show how many events wait; the age of the oldest in seconds, negative infinity without one."""
        waiting = {"pending": True, "time": {"$gt": _BEGINNING}}  # without a time the partial index is not used
        counted: Document = {"_id": None, "rows": {"$sum": 1}, "oldest": {"$first": "$time"}}
        first: list[Document] = [{"$match": waiting}, {"$sort": {"time": 1}}, {"$limit": MAX_COUNTED}]
        totals = await self._mongo.aggregate(OUTBOX, [*first, {"$group": counted}])
        age = (self._clock.now() - totals[0]["oldest"]).total_seconds() if totals else float("-inf")
        _pending.set(totals[0]["rows"] if totals else 0)
        _oldest.set(max(0.0, age))
        return age


def _passes(error: Exception) -> bool:
    """Any error of the driver: whatever goes wrong with one sweep, the next one may succeed."""
    return isinstance(error, PyMongoError)
