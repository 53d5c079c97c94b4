"""Run completions folded per second, end to end: Kafka in, every read model and the bookkeeping written, one process.

`python -m benchmarks.folding [executions]` publishes executions of 25 runs to an embedded broker, then lets a fresh
`python -m services.reporting` consume them: in batches, then one event at a time. The third row is what a projection
without guarantees would do: one `$inc` for each run, nothing else written, nothing remembered. Settings come from the
environment as always (MOBILETEST_MONGO_DRIVER, MOBILETEST_FOLD_BATCH). Reporting has one core to itself; MongoDB, the
broker and this process share the others. Meanwhile an app's stats are asked for every 20 ms.
"""

import asyncio
import itertools
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import uvloop
from mobiletest.reporting.v1 import reports_pb2, reports_pb2_grpc

from benchmarks.completions import RUNS_PER_EVENT, RUNS_PER_EXECUTION, EventGenerator
from benchmarks.goals import Goal
from benchmarks.reporting import TOKEN, Moment, Servers, Service, peak_mebibytes, servers, until_applied
from services.chassis import grpc_server
from services.chassis.context import ALL_SCOPES, Caller, bind
from services.chassis.mongo import Mongo
from services.reporting.events import parse_event
from services.reporting.model.snapshots import RunSnapshot

CORES = sorted(os.sched_getaffinity(0))
EXECUTIONS = 2400
SINGLE_SECONDS = 10.0
BARE_SECONDS = 5.0
LONGEST_SECONDS = 60.0
LOOK_SECONDS = 0.02
GOAL_EXECUTIONS = 1600


@dataclass(frozen=True, slots=True)
class Folded:
    """Run completions per second, milliseconds of CPU per 1,000 of them by process, peak memory of reporting in MiB,
    and the milliseconds that each lookup took meanwhile.
    """

    rate: float
    cpu: dict[str, float]
    memory: float
    lookups: list[float]


@dataclass(frozen=True, slots=True)
class Rates:
    """The two ways to fold the same events."""

    folded: Folded
    single: Folded
    bare: float


async def compare(executions: int = EXECUTIONS) -> Rates:
    """Both ways in turn on the same servers, each with a database and a group of its own."""
    async with _published(executions) as running:
        folded = await _folded(running, Service(running, "folded"), _events(executions), LONGEST_SECONDS)
        alone = Service(running, "single", {"MOBILETEST_FOLD_BATCH": "1"})
        return Rates(folded, await _folded(running, alone, _events(executions), SINGLE_SECONDS), await _bare(running))


def _events(executions: int) -> int:
    return executions * (RUNS_PER_EXECUTION + 1)


@asynccontextmanager
async def _published(executions: int) -> AsyncIterator[Servers]:
    """Servers with the events of so many executions."""
    with tempfile.TemporaryDirectory() as folder, _on_core(of_reporting=False):
        async with servers(Path(folder)) as running:
            events = itertools.chain.from_iterable(itertools.islice(EventGenerator(seed=1).executions(), executions))
            await running.publish(events)
            yield running


async def _folded(running: Servers, service: Service, events: int, seconds: float) -> Folded:
    with _on_core(of_reporting=True):
        service.child.start()
    lookups: list[float] = []
    looking = asyncio.create_task(_look_up(service, lookups))
    try:
        first, last = await until_applied(service, running, events, seconds)
        return _between(first, last, peak_mebibytes(service.child.pid), lookups)
    finally:
        looking.cancel()
        await service.child.stop()


@contextmanager
def _on_core(*, of_reporting: bool) -> Iterator[None]:
    """What is started inside runs on the first core, or on all others; on the only one if there is just one."""
    os.sched_setaffinity(0, (CORES[:1] if of_reporting else CORES[1:]) or CORES)
    try:
        yield
    finally:
        os.sched_setaffinity(0, CORES[1:] or CORES)


async def _look_up(service: Service, milliseconds: list[float]) -> None:
    """Ask for an app's stats again and again; once events are applied, note how long all but the first take."""
    while not await service.applied():  # noqa: ASYNC110 (another process)
        await asyncio.sleep(LOOK_SECONDS)
    generator = EventGenerator(seed=1)
    request = reports_pb2.BatchGetAppStatsRequest(app_ids=[generator.apps[0].id])
    async with grpc_server.open_channel(service.grpc, TOKEN) as channel:
        reports: Any = reports_pb2_grpc.ReportsStub(channel)  # type: ignore[no-untyped-call]
        with bind(Caller(generator.org_id, scopes=ALL_SCOPES)):
            await reports.BatchGetAppStats(request)  # connects, and loads what calls need
            while True:
                began = time.perf_counter()
                await reports.BatchGetAppStats(request)
                milliseconds.append((time.perf_counter() - began) * 1000)
                await asyncio.sleep(LOOK_SECONDS)


async def _bare(running: Servers) -> float:
    """Runs a second with one update of one counter for each, and none of what makes a repeat a no-op."""
    pymongo = os.environ.get("MOBILETEST_MONGO_DRIVER") == "pymongo"
    mongo = await Mongo.connect(running.mongod.uri, "bare", "pymongo" if pymongo else "motor")
    try:
        counted, started = 0, time.monotonic()
        for event in itertools.chain.from_iterable(EventGenerator(seed=1).executions()):
            snapshot = parse_event(event)
            if isinstance(snapshot, RunSnapshot) and snapshot.build and snapshot.outcome:
                update = {"$inc": {snapshot.outcome.value: 1}}
                await mongo.collection("counters").update_one({"_id": snapshot.build.id}, update, upsert=True)
                counted += 1
            if time.monotonic() - started > BARE_SECONDS:
                return counted / BARE_SECONDS
        return 0.0
    finally:
        await mongo.close()


async def goals() -> list[Goal]:
    """Folding and lookups meanwhile, with reporting on a core of its own."""
    async with _published(GOAL_EXECUTIONS) as running:
        folded = await _folded(running, Service(running, "folded"), _events(GOAL_EXECUTIONS), LONGEST_SECONDS)
    slowest, typical = max(folded.lookups), median(folded.lookups)
    cpu = ", ".join(f"{name} {amount:.0f}" for name, amount in folded.cpu.items())
    return [
        Goal("run completions folded on one core", folded.rate, 8_000, "/s", figures=f"CPU ms per 1,000: {cpu}"),
        Goal(
            "slowest lookup meanwhile", slowest, 50, "ms", at_most=True,
            figures=f"{len(folded.lookups)} lookups, median {typical:.0f} ms",
        ),
    ]  # fmt: skip


def _between(first: Moment, last: Moment, memory: float, lookups: list[float]) -> Folded:
    runs = (last.applied - first.applied) * RUNS_PER_EVENT
    cpu = {name: (last.cpu[name] - first.cpu[name]) / runs * 1e6 for name in last.cpu}
    return Folded(runs / (last.at - first.at), cpu, memory, lookups)


def show(rates: Rates) -> None:
    """Print the table of docs/performance.md."""
    print(
        "| run completions, Kafka to read models | a second | CPU ms per 1,000: reporting | mongod | broker | MiB "
        "| lookups, median / most ms |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, row in (("folded in batches", rates.folded), ("one event at a time", rates.single)):
        cpu = " | ".join(f"{row.cpu[process]:,.0f}" for process in ("reporting", "mongod", "broker"))
        looked = f"{median(row.lookups):.0f} / {max(row.lookups):.0f}"
        print(f"| {name} | {row.rate:,.0f} | {cpu} | {row.memory:,.0f} | {looked} |")
    print(f"| one counter, one update each | {rates.bare:,.0f} | | | | | |")
    print(f"| ratios | {rates.folded.rate / rates.single.rate:.1f}, {rates.folded.rate / rates.bare:.1f} | | | | | |")


if __name__ == "__main__":
    show(uvloop.run(compare(int(sys.argv[1]) if len(sys.argv) > 1 else EXECUTIONS)))
