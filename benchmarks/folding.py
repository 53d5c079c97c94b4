"""Run completions folded per second, end to end: Kafka in, every read model and the bookkeeping written, one process.

`python -m benchmarks.folding [executions]` publishes executions of 25 runs to an embedded broker, then lets a fresh
`python -m services.reporting` consume them: in batches, then one event at a time. The third row is what a projection
without guarantees would do: one `$inc` for each run, nothing else written, nothing remembered. Settings come from the
environment as always (MOBILETEST_MONGO_DRIVER, MOBILETEST_FOLD_BATCH); `taskset -c 0,1` binds all to two cores.
"""

import itertools
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import uvloop

from benchmarks.completions import RUNS_PER_EVENT, RUNS_PER_EXECUTION, EventGenerator
from benchmarks.reporting import Moment, Servers, Service, peak_mebibytes, servers, until_applied
from services.chassis.mongo import Mongo
from services.reporting.events import parse_event
from services.reporting.model.snapshots import RunSnapshot

EXECUTIONS = 2400
SINGLE_SECONDS = 10.0
BARE_SECONDS = 5.0
LONGEST_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Folded:
    """Run completions per second, milliseconds of CPU per 1,000 of them by process, peak memory of reporting in MiB."""

    rate: float
    cpu: dict[str, float]
    memory: float


@dataclass(frozen=True, slots=True)
class Rates:
    """The two ways to fold the same events."""

    folded: Folded
    single: Folded
    bare: float


async def compare(executions: int = EXECUTIONS) -> Rates:
    """Both ways in turn on the same servers, each with a database and a group of its own."""
    with tempfile.TemporaryDirectory() as folder:
        async with servers(Path(folder)) as running:
            events = itertools.chain.from_iterable(itertools.islice(EventGenerator(seed=1).executions(), executions))
            await running.publish(events)
            count = executions * (RUNS_PER_EXECUTION + 1)
            folded = await _folded(running, Service(running, "folded"), count, LONGEST_SECONDS)
            alone = Service(running, "single", {"MOBILETEST_FOLD_BATCH": "1"})
            return Rates(folded, await _folded(running, alone, count, SINGLE_SECONDS), await _bare(running))


async def _folded(running: Servers, service: Service, events: int, seconds: float) -> Folded:
    service.child.start()
    try:
        first, last = await until_applied(service, running, events, seconds)
        return _between(first, last, peak_mebibytes(service.child.pid))
    finally:
        await service.child.stop()


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


def _between(first: Moment, last: Moment, memory: float) -> Folded:
    runs = (last.applied - first.applied) * RUNS_PER_EVENT
    cpu = {name: (last.cpu[name] - first.cpu[name]) / runs * 1e6 for name in last.cpu}
    return Folded(runs / (last.at - first.at), cpu, memory)


def show(rates: Rates) -> None:
    """Print the table of docs/performance.md."""
    print("| run completions, Kafka to read models | a second | CPU ms per 1,000: reporting | mongod | broker | MiB |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, row in (("folded in batches", rates.folded), ("one event at a time", rates.single)):
        cpu = " | ".join(f"{row.cpu[process]:,.0f}" for process in ("reporting", "mongod", "broker"))
        print(f"| {name} | {row.rate:,.0f} | {cpu} | {row.memory:,.0f} |")
    print(f"| one counter, one update each | {rates.bare:,.0f} | | | | |")
    print(f"| ratios | {rates.folded.rate / rates.single.rate:.1f}, {rates.folded.rate / rates.bare:.1f} | | | | |")


if __name__ == "__main__":
    show(uvloop.run(compare(int(sys.argv[1]) if len(sys.argv) > 1 else EXECUTIONS)))
