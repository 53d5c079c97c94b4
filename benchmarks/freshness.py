"""How soon finished runs show, and how fast reporting catches up after a stop.

`python -m benchmarks.freshness [seconds]` publishes 200 runs a second into a running `python -m services.reporting` and
looks every 50 ms at the counters that app stats are made of: the runs of an app are in one partition, so its n-th run
shows when n are counted. Then the service is stopped, misses two minutes' worth of runs, and is started again.
"""

import asyncio
import sys
import time
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory

import uvloop

from benchmarks.completions import RUNS_PER_EVENT, RUNS_PER_EXECUTION, EventGenerator
from benchmarks.reporting import Servers, Service, look, publish, servers, until_applied
from services.chassis.events import Event
from services.chassis.mongo import Mongo
from services.chassis.producer import Producer
from services.reporting.consumer import TOPICS
from services.reporting.model import counters
from services.reporting.storage.documents import COUNTERS, counter_id

SECONDS = 60
EXECUTIONS_A_SECOND = 8
RUNS_A_SECOND = EXECUTIONS_A_SECOND * RUNS_PER_EXECUTION
LOOK_SECONDS = 0.05
FRESH_SECONDS = 5.0
WARM_SECONDS = 3.0
MISSED_SECONDS = 120
LONGEST_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Freshness:
    """Milliseconds from publication to the aggregates, the share within 5 s, runs a second of the catch-up, and the
    share of a core that reporting takes under the arrival rate.
    """

    p50: float
    p99: float
    fresh: float
    caught_up: float
    busy: float


class Shown:
    """When each run was published, and how many of each app the aggregates show at which moment."""

    def __init__(self, mongo: Mongo, generator: EventGenerator) -> None:
        self._counters = mongo.collection(COUNTERS)
        days = [(generator.start + timedelta(days=ahead)).date() for ahead in range(0, 60, 20)]
        self._names = {
            counter_id(generator.org_id, name): app.id
            for app in generator.apps
            for name in counters.months(app.id, days)
        }
        self._published: dict[str, list[float]] = {app.id: [] for app in generator.apps}
        self._seen: dict[str, list[tuple[int, float]]] = {app.id: [] for app in generator.apps}

    def published(self, events: list[Event]) -> None:
        """They are given to the broker now."""
        for event in events:
            if event.key in self._published:
                self._published[event.key].append(time.monotonic())

    async def all(self) -> None:
        """Look until every run that was published shows."""
        while await self._look() < sum(map(len, self._published.values())):  # noqa: ASYNC110 (another process)
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self) -> int:
        totals = dict.fromkeys(self._published, 0)
        for row in await self._counters.find({"_id": {"$in": list(self._names)}}).to_list(None):
            counted = [amount for field, amount in row.items() if field.endswith(("_passed", "_failed"))]
            totals[self._names[row["_id"]]] += sum(counted)
        for app_id, total in totals.items():
            self._seen[app_id].append((total, time.monotonic()))
        return sum(totals.values())

    def delays(self) -> list[float]:
        """Seconds of each run in order of publication."""
        delays = [
            (at, self._shown_at(app_id, number) - at)
            for app_id, moments in self._published.items()
            for number, at in enumerate(moments, start=1)
        ]
        return [delay for _, delay in sorted(delays)]

    def _shown_at(self, app_id: str, number: int) -> float:
        seen = self._seen[app_id]
        return seen[bisect_left(seen, (number, 0.0))][1]


async def arrive(producer: Producer, executions: Iterator[list[Event]], seconds: float, shown: Shown) -> None:
    """Publish executions at their rate for so long."""
    began = time.monotonic()
    for number in range(int(seconds * EXECUTIONS_A_SECOND)):
        await asyncio.sleep(max(0.0, began + number / EXECUTIONS_A_SECOND - time.monotonic()))
        execution = next(executions)
        shown.published(execution)
        await publish(producer, execution)


async def measure(seconds: float) -> Freshness:
    """Both measurements, on servers of their own."""
    async with AsyncExitStack() as stack:
        running = await stack.enter_async_context(servers(Path(stack.enter_context(TemporaryDirectory()))))
        mongo = await Mongo.connect(running.mongod.uri, "reporting_fresh", "pymongo")
        stack.push_async_callback(mongo.close)
        producer = Producer(running.broker.bootstrap, TOPICS, idempotence=False)
        await stack.enter_async_context(producer)
        service = Service(running, "fresh")
        stack.push_async_callback(service.child.stop)
        service.child.start()
        return await _measure(running, service, producer, mongo, seconds)


async def _measure(running: Servers, service: Service, producer: Producer, mongo: Mongo, seconds: float) -> Freshness:
    generator = EventGenerator(seed=2)
    executions, shown = generator.executions(), Shown(mongo, generator)
    await arrive(producer, executions, WARM_SECONDS, shown)
    await shown.all()
    warm = len(shown.delays())
    before = await look(service, running)
    async with asyncio.TaskGroup() as together:
        arriving = together.create_task(arrive(producer, executions, seconds, shown))
        together.create_task(_until_all(shown, arriving))
    after = await look(service, running)
    delays = shown.delays()[warm:]
    cuts = quantiles(delays, n=100)
    fresh = sum(delay <= FRESH_SECONDS for delay in delays) / len(delays)
    busy = (after.cpu["reporting"] - before.cpu["reporting"]) / (after.at - before.at)
    caught_up = await _catch_up(running, service, producer, executions, shown)
    return Freshness(cuts[49] * 1000, cuts[98] * 1000, fresh, caught_up, busy)


async def _until_all(shown: Shown, arriving: asyncio.Task[None]) -> None:
    while not arriving.done():
        await shown.all()
        await asyncio.sleep(LOOK_SECONDS)
    await shown.all()


async def _catch_up(
    running: Servers,
    service: Service,
    producer: Producer,
    executions: Iterator[list[Event]],
    shown: Shown,
) -> float:
    """Runs a second from the first batch after the stop until what was missed is folded, while more arrive."""
    await service.child.stop()
    for _ in range(MISSED_SECONDS * EXECUTIONS_A_SECOND):
        await publish(producer, next(executions))
    waiting = MISSED_SECONDS * EXECUTIONS_A_SECOND * (RUNS_PER_EXECUTION + 1)
    service.child.start()
    going_on = asyncio.create_task(arrive(producer, executions, LONGEST_SECONDS, shown))
    try:
        first, last = await until_applied(service, running, waiting, LONGEST_SECONDS)
    finally:
        going_on.cancel()
    return (last.applied - first.applied) * RUNS_PER_EVENT / (last.at - first.at)


def show(freshness: Freshness) -> None:
    """Print the table of docs/performance.md."""
    print(f"| {RUNS_A_SECOND} runs a second | |\n| --- | --- |")
    print(f"| published until the aggregates show it, p50 / p99 ms | {freshness.p50:,.0f} / {freshness.p99:,.0f} |")
    print(f"| within {FRESH_SECONDS:.0f} s | {freshness.fresh:.2%} |")
    print(f"| CPU of reporting, share of a core | {freshness.busy:.0%} |")
    print(
        f"| caught up after a stop, runs a second (times the arrival rate) | {freshness.caught_up:,.0f} "
        f"({freshness.caught_up / RUNS_A_SECOND:.0f}) |"
    )


if __name__ == "__main__":
    show(uvloop.run(measure(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS)))
