"""What a search for the next runs costs with 10,000 of them waiting, of 1, 100 and 1,000 organisations.

`python -m benchmarks.queue`. The comparison is the plain oldest-first query on the same index.
"""

import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import mean
from time import perf_counter
from uuid import uuid4

import uvloop

from deploy.local.mongod import mongod
from mobiletest_automation.model.devices import Platform
from services.chassis.migrations import open_migrated
from services.chassis.mongo import Document, Mongo
from services.executor.model import lifecycle
from services.executor.model.runs import Run, RunLimits, RunTarget
from services.executor.storage.fair_queue import FairQueue
from services.executor.storage.leased_runs import LeasedRuns
from services.executor.storage.migrations import MIGRATIONS
from services.executor.storage.records import run_document
from services.executor.storage.schema import RUNS

WAITING = 10_000
LEASED = 200
ENDED = 10_000
SEARCHES = 60
LIMITS = RunLimits()


def waiting(number: int, organisations: int) -> Run:
    now = datetime.now(UTC) - timedelta(seconds=3600) + timedelta(milliseconds=number)
    target = RunTarget(str(uuid4()), "Log in", 1, Platform.ANDROID, str(uuid4()), "Shop", str(uuid4()), "1.0")
    run = Run(
        id=str(uuid4()),
        execution_id=str(uuid4()),
        org_id=f"organisation-{number % organisations}",
        position=0,
        target=target,
        retries=1,
        created_at=now,
    )
    return lifecycle.queue(run, now)


def documents(organisations: int) -> list[Document]:
    queued = [waiting(number, organisations) for number in range(WAITING + LEASED + ENDED)]
    soon = datetime.now(UTC)
    leased = [lifecycle.claim(run, "worker", soon, LIMITS) for run in queued[WAITING : WAITING + LEASED]]
    ended = [replace(lifecycle.request_cancel(run, soon)) for run in queued[WAITING + LEASED :]]
    return [run_document(run, LIMITS) for run in (*queued[:WAITING], *leased, *ended)]


async def milliseconds(queue: FairQueue, wanted: int) -> float:
    took = []
    for _ in range(SEARCHES):
        before = perf_counter()
        run_keys = await queue.next_runs(Platform.ANDROID, wanted)
        took.append(perf_counter() - before)
        assert len(run_keys) == wanted
    return mean(took) * 1000


async def plain(mongo: Mongo, wanted: int) -> float:
    took = []
    for _ in range(SEARCHES):
        before = perf_counter()
        of_platform = {"queue": {"$gte": "Android/", "$lt": "Android0"}}
        await mongo.collection(RUNS).find(of_platform, {"execution_id": 1}).sort("queue", 1).limit(wanted).to_list(None)
        took.append(perf_counter() - before)
    return mean(took) * 1000


async def main() -> None:
    print("| organisations | 1 run wanted, ms | 8 wanted, ms | plain query of 8, ms |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        async with (
            mongod(Path(folder) / "mongod") as server,
            open_migrated(server.uri, "queue", MIGRATIONS) as mongo,
        ):
            for organisations in (1, 10, 100, 1000):
                await mongo.collection(RUNS).delete_many({})
                await mongo.collection(RUNS).insert_many(documents(organisations))
                queue = FairQueue(mongo, LeasedRuns(mongo), lambda _: None)
                one, eight = await milliseconds(queue, 1), await milliseconds(queue, 8)
                print(f"| {organisations} | {one:.1f} | {eight:.1f} | {await plain(mongo, 8):.1f} |", flush=True)


if __name__ == "__main__":
    uvloop.run(main())
