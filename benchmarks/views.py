"""What each view costs with 10,000 runs and with 1,000,000: the same app, builds and tests, only the history differs.

`python -m benchmarks.views` fills two databases of one mongod (see benchmarks/history.py) and asks both in turns, in
this process: the use-case, its lookups, and the message of the answer. Every view is asked warm, the same page again
and again, so that work is compared and not what a cache holds; the last row asks for any page of any build.
"""

import asyncio
import os
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import uvloop
from mobiletest.reporting.v1 import reports_pb2

from benchmarks.history import app
from benchmarks.reporting import peak_mebibytes
from deploy.local.mongod import mongod
from services.chassis.clock import SystemClock
from services.chassis.context import Caller, bind
from services.chassis.leases import MongoLease
from services.chassis.mongo import Mongo
from services.reporting.messages import coverage_message, matrix_message, workspace_message
from services.reporting.model import counters
from services.reporting.model.list_positions import RetentionLimits
from services.reporting.ports import RowPage
from services.reporting.storage.expirable_runs import MongoExpirableRuns
from services.reporting.storage.failures import MongoFailures
from services.reporting.storage.projections import MongoProjections
from services.reporting.storage.read_models import MongoCatalogTests, MongoReadModels
from services.reporting.storage.verdicts import MongoVerdicts
from services.reporting.usecases.apps import AppReports
from services.reporting.usecases.report_sources import ReportSources
from services.reporting.usecases.retention import RetentionSweeper
from services.reporting.usecases.run_lists import RunLists, RunsPage

ROUNDS = 150
PAGE_SIZE = 20
BUILDS_A_PAGE = 10
TREND_DAYS = 30
MEBIBYTE = 1 << 20
KEPT_PER_TEST = 4_000


@dataclass(frozen=True, slots=True)
class Size:
    """A database: rounds of the app that is looked at (each 5,000 runs), and other apps with a tenth of its runs."""

    runs: int
    rounds: int
    other_apps: int


SMALL, LARGE = Size(10_000, 2, 0), Size(1_000_000, 100, 10)


class Views:
    """The views of one database. Totals are looked up once, to know where the middle and the end of a list are."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo
        self._read = MongoReadModels(mongo)
        lookups = self._read, MongoCatalogTests(mongo), MongoVerdicts(mongo), MongoFailures(mongo)
        self._apps = AppReports(ReportSources(*lookups, SystemClock()))
        self._lists = RunLists(self._read)
        self._app = app(0)
        self._build = self._app.builds[25].id
        self._chance = random.Random(7)
        self.of_build = self.of_test = 0

    async def learn(self) -> None:
        """How long the lists are."""
        build, test = counters.build(self._build), counters.test(self._app.tests[50])
        rows = await self._read.counters([build, test], ["listed"])
        self.of_build, self.of_test = rows[build]["listed"], rows[test]["listed"]

    async def workspace(self) -> bytes:
        return workspace_message(await self._apps.workspace(self._app.id, TREND_DAYS)).SerializeToString()

    async def coverage(self) -> bytes:
        return (await coverage_message(self._app.id, await self._apps.coverage(self._app.id))).SerializeToString()

    async def matrix(self, skip: int = 0) -> bytes:
        matrix = await self._apps.matrix(self._app.id, RowPage(skip, BUILDS_A_PAGE))
        return (await matrix_message(self._app.id, matrix, 1, BUILDS_A_PAGE)).SerializeToString()

    async def deep_matrix(self) -> bytes:
        return await self.matrix(40)

    async def build_runs(self) -> bytes:
        return await self._of_build(0)

    async def middle_of_build(self) -> bytes:
        return await self._of_build(self.of_build // 2)

    async def end_of_build(self) -> bytes:
        return await self._of_build(self.of_build - PAGE_SIZE)

    async def any_of_any_build(self) -> bytes:
        build = self._chance.choice(self._app.builds)
        return _message(
            await self._lists.of_build(build.id, RowPage(self._chance.randrange(self.of_build - 20), PAGE_SIZE))
        )

    async def test_runs(self) -> bytes:
        return await self._of_test(0)

    async def end_of_test(self) -> bytes:
        return await self._of_test(self.of_test - PAGE_SIZE)

    async def _of_build(self, skip: int) -> bytes:
        return _message(await self._lists.of_build(self._build, RowPage(skip, PAGE_SIZE)))

    async def _of_test(self, skip: int) -> bytes:
        return _message(await self._lists.of_test(self._app.tests[50], RowPage(skip, PAGE_SIZE)))


def _message(runs: RunsPage) -> bytes:
    if len(runs.items) != PAGE_SIZE:
        raise ValueError(f"a page has {len(runs.items)} runs instead of {PAGE_SIZE}")
    items = map(reports_pb2.BuildRunItem.FromString, runs.items)
    return reports_pb2.ListBuildRunsResponse(total=runs.total, items=items).SerializeToString()


Ask = Callable[[Views], Awaitable[bytes]]
ASKED: dict[str, Ask] = {
    "workspace, 50 builds, 30 days": Views.workspace,
    "coverage, 100 tests": Views.coverage,
    "matrix, 10 newest builds of 100 tests": Views.matrix,
    "matrix, 10 oldest builds": Views.deep_matrix,
    "runs of a build, first page": Views.build_runs,
    "runs of a build, page in the middle": Views.middle_of_build,
    "runs of a build, last page": Views.end_of_build,
    "runs of a test, first page": Views.test_runs,
    "runs of a test, last page": Views.end_of_test,
    "runs of any build, any place": Views.any_of_any_build,
}


@dataclass(frozen=True, slots=True)
class Row:
    """Medians of one view in milliseconds."""

    view: str
    small: float
    large: float

    @property
    def ratio(self) -> float:
        return self.large / self.small


async def compare(views: tuple[Views, Views]) -> list[Row]:
    """Every view in turns on both."""
    return [Row(name, *await _medians(ask, views)) for name, ask in ASKED.items()]


async def _medians(ask: Ask, views: tuple[Views, Views]) -> tuple[float, float]:
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(ROUNDS + 10):
        for place in (0, 1) if number % 2 else (1, 0):
            began = time.perf_counter()
            await ask(views[place])
            times[place].append((time.perf_counter() - began) * 1000)
    return median(times[0][10:]), median(times[1][10:])


async def fill(uri: str, size: Size) -> tuple[str, float]:
    """The name of the database, filled by a process of its own, and how many seconds that took."""
    name, began = f"runs_{size.runs}", time.monotonic()
    argv = (sys.executable, "-m", "benchmarks.history", uri, name, str(size.rounds), str(size.other_apps))
    process = await asyncio.create_subprocess_exec(*argv)
    if await process.wait():
        raise RuntimeError(f"{name} could not be filled")
    return name, time.monotonic() - began


@dataclass(frozen=True, slots=True)
class Stored:
    """A database: documents and their indexes in MiB on disk, and how long it took to fill."""

    runs: int
    documents: float
    indexes: float
    counters: int
    seconds: float


async def stored(mongo: Mongo, size: Size, seconds: float) -> Stored:
    stats: dict[str, Any] = await mongo.database.command("dbStats")
    counted = await mongo.collection("counters").estimated_document_count()
    return Stored(size.runs, stats["storageSize"] / MEBIBYTE, stats["indexSize"] / MEBIBYTE, counted, seconds)


def show(rows: Sequence[Row], sizes: Sequence[Stored], memory: float) -> None:
    """Print the tables of docs/performance.md."""
    print("| view, median ms | 10,000 runs | 1,000,000 runs | ratio |")
    print("| --- | --- | --- | --- |")
    for row in rows:
        print(f"| {row.view} | {row.small:.1f} | {row.large:.1f} | {row.ratio:.2f} |")
    print("\n| runs | documents, MiB on disk | indexes, MiB | counters | filled in s |")
    print("| --- | --- | --- | --- | --- |")
    for one in sizes:
        print(f"| {one.runs:,} | {one.documents:,.0f} | {one.indexes:,.0f} | {one.counters:,} | {one.seconds:,.0f} |")
    print(f"\nThe process that asked has had {memory:,.0f} MiB resident at most.")


@dataclass(frozen=True, slots=True)
class Expiry:
    """A sweep of retention: runs, seconds, and the mean bytes of what is left of them and of those that are listed."""

    runs: int
    seconds: float
    left: float
    listed: float


async def expire(mongo: Mongo) -> Expiry:
    """Only the newest runs of each test stay."""
    turn = MongoLease(mongo, "expiring", "the benchmark", seconds=600)
    bounds = RetentionLimits(per_test=KEPT_PER_TEST)
    sweep = RetentionSweeper(
        MongoExpirableRuns(mongo), MongoProjections(mongo), turn, limits=bounds, clock=SystemClock()
    )
    began = time.monotonic()
    runs = await sweep.sweep()
    seconds = time.monotonic() - began
    return Expiry(runs, seconds, await _bytes(mongo, expired=True), await _bytes(mongo, expired=False))


async def _bytes(mongo: Mongo, *, expired: bool) -> float:
    pipeline: list[dict[str, Any]] = [
        {"$match": {"listed_at": {"$exists": not expired}}},
        {"$limit": 1000},
        {"$group": {"_id": None, "bytes": {"$avg": {"$bsonSize": "$$ROOT"}}}},
    ]
    rows = await mongo.aggregate("runs", pipeline)
    return float(rows[0]["bytes"]) if rows else 0.0


def show_expiry(expiry: Expiry) -> None:
    rate = expiry.runs / expiry.seconds
    print(f"\nRetention of the newest {KEPT_PER_TEST:,} runs of each test: {expiry.runs:,} left the lists in", end=" ")
    print(
        f"{expiry.seconds:,.0f} s, {rate:,.0f} a second; {expiry.left:,.0f} of {expiry.listed:,.0f} bytes of each stay."
    )


async def main(large: Size = LARGE) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with mongod(Path(folder) / "mongod") as server:
            databases = [(size, *await fill(server.uri, size)) for size in (SMALL, large)]
            mongos = [await Mongo.connect(server.uri, name) for _, name, _ in databases]
            views = (Views(mongos[0]), Views(mongos[1]))
            with bind(Caller("org-1")):
                for one in views:
                    await one.learn()
                rows = await compare(views)
            sizes = [
                await stored(mongo, size, seconds) for mongo, (size, _, seconds) in zip(mongos, databases, strict=True)
            ]
            expiry = await expire(mongos[1])
            show(rows, sizes, peak_mebibytes(os.getpid()))
            show_expiry(expiry)
            for mongo in mongos:
                await mongo.close()


if __name__ == "__main__":
    uvloop.run(main(Size(int(sys.argv[1]) * 10_000, int(sys.argv[1]), 10) if len(sys.argv) > 1 else LARGE))
