"""What comparison and gate cost after 20 builds and after 2,000: the same tests, only the history differs.

`python -m benchmarks.breakages` writes the cells of both histories into two databases of one mongod and asks both in
turns, in this process. It is the worst case: every test passed on the first build and has failed on each build of main
since, while a feature branch in between passes, and one execution runs them all on the newest build.
"""

import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import uvloop
from mobiletest.reporting.v1 import reports_pb2

from deploy.local.mongod import mongod
from services.chassis.clock import SystemClock
from services.chassis.context import Caller, bind
from services.chassis.migrations import migrate
from services.chassis.mongo import Mongo
from services.reporting.gate_messages import build_gate_message, comparison_message, gate_message
from services.reporting.model.attempts import Attempt, BuildRef
from services.reporting.model.snapshots import AttachmentSnapshot, BuildSnapshot, Outcome, Status, TestSnapshot
from services.reporting.model.sources import SourceRevision
from services.reporting.model.tables import (
    Cell,
    CellKey,
    ExecutionRow,
    HistoryKey,
    LastRun,
    NamedVerdict,
    RunRow,
)
from services.reporting.model.tables import History as TestHistory
from services.reporting.storage import documents as d
from services.reporting.storage.failures import MongoFailures
from services.reporting.storage.read_models import MongoCatalogTests, MongoReadModels
from services.reporting.storage.schema import MIGRATIONS
from services.reporting.storage.verdicts import MongoVerdicts
from services.reporting.usecases.compare import Comparisons
from services.reporting.usecases.gate import BuildGates, GateRequest, Gates
from services.reporting.usecases.report_sources import ReportSources

TESTS, ROUNDS, ATTEMPTS = 100, 40, 40
FEW, MANY = 20, 2_000
ORG, APP, EXECUTION = "org-1", "app-1", "the-execution"
START = datetime(2026, 1, 1, tzinfo=UTC)


def builds(count: int) -> list[BuildSnapshot]:
    """Oldest first, an hour apart; with ids that are not in that order."""
    ids = random.Random(count)
    return [
        BuildSnapshot(f"{ids.getrandbits(64):016x}", ORG, 1, False, APP, f"1.{n}", START + timedelta(hours=n))
        for n in range(count)
    ]


def cells(made: list[BuildSnapshot], tests: int) -> Iterator[tuple[CellKey, Cell]]:
    for number, build in enumerate(made):
        newest = number == len(made) - 1
        branch = "main" if newest or number % 2 == 0 else "feature"
        outcome = Outcome.FAILED if number and branch == "main" else Outcome.PASSED
        ended = build.uploaded_at + timedelta(minutes=5)
        for test in range(tests):
            execution = EXECUTION if newest else f"execution-{number}"
            run = LastRun(ended, f"run-{test}" if newest else f"run-{number}-{test}", execution, outcome, 60.0)
            named = SourceRevision(ended, run.run_id, branch, f"c{number}")
            cell = Cell(
                ORG,
                build.uploaded_at,
                test_name=f"Test {test}",
                last_run=run,
                verdict=run,
                source_revision=named,
                named_verdict=NamedVerdict(ended, run.run_id, execution, outcome, 60.0, branch, f"c{number}"),
            )
            yield (APP, f"test-{test}", build.build_id), cell


def histories(made: list[BuildSnapshot], tests: int) -> Iterator[tuple[HistoryKey, TestHistory]]:
    """Forty attempts of each test on main: the first passed, the others failed."""
    refs = [BuildRef(build.uploaded_at, build.build_id, build.version) for build in made[::2]]
    for test in range(tests):
        attempts = tuple(_attempt(number, test, refs) for number in range(ATTEMPTS))
        yield (APP, f"test-{test}"), TestHistory(ORG, attempts, refs[-1])


def _attempt(number: int, test: int, refs: list[BuildRef]) -> Attempt:
    at, build = START + timedelta(minutes=number), refs[number * len(refs) // ATTEMPTS]
    return Attempt(f"run-{number}-{test}", 1, f"execution-{number}", at, build, 1, not number, "main", False)


def copies(tests: int) -> Iterator[tuple[str, TestSnapshot]]:
    for test in range(tests):
        yield f"test-{test}", TestSnapshot(f"test-{test}", ORG, 1, False, f"Test {test}")


def attachments(tests: int) -> Iterator[tuple[tuple[str, str], AttachmentSnapshot]]:
    for test in range(tests):
        yield (APP, f"test-{test}"), AttachmentSnapshot(APP, f"test-{test}", ORG, 1, True, None, f"Test {test}")


def runs(newest: BuildSnapshot, tests: int) -> Iterator[tuple[str, RunRow]]:
    shown = reports_pb2.BuildRunItem(success=False, resolved_build_version=newest.version)
    shown.metadata.update({"branch": "main", "commit_sha": "c"})
    shown.report_metadata.update({"category": "assertion_failed", "top_failure": "Total was 12"})
    shown.completed_at.FromDatetime(newest.uploaded_at)
    for test in range(tests):
        shown.test_name = f"Test {test}"
        told = (EXECUTION, f"test-{test}", APP, newest.build_id, newest.uploaded_at, shown.SerializeToString())
        yield f"run-{test}", RunRow(ORG, 1, Status.COMPLETED, *told)


async def fill(mongo: Mongo, count: int, tests: int = TESTS) -> str:
    """Write the history of so many builds; gives the newest build."""
    await migrate(mongo, MIGRATIONS)
    made = builds(count)
    await _insert(mongo, d.BUILDS, ((build.build_id, build) for build in made))
    await _insert(mongo, d.CELLS, cells(made, tests))
    await _insert(mongo, d.TESTS, copies(tests))
    await _insert(mongo, d.HISTORIES, histories(made, tests))
    await _insert(mongo, d.RUNS, runs(made[-1], tests))
    await _insert(mongo, d.ATTACHMENTS, attachments(tests))
    ended = ExecutionRow(ORG, 1, total=tests, finished=tests, storm=False)
    await _insert(mongo, d.EXECUTIONS, [(EXECUTION, ended)])
    return made[-1].build_id


async def _insert(mongo: Mongo, kind: d.TableCodec[Any, Any], rows: Any) -> None:
    batch: list[dict[str, Any]] = []
    for key, row in rows:
        batch.append({"_id": d.document_id(key), **kind.encode(key, row)})
        if len(batch) == 5000:
            await mongo.collection(kind.collection).insert_many(batch, ordered=False)
            batch = []
    if batch:
        await mongo.collection(kind.collection).insert_many(batch, ordered=False)


class History:
    """A filled database of `tests` failing tests, asked for the newest build."""

    def __init__(self, mongo: Mongo, newest: str, tests: int = TESTS) -> None:
        models = MongoReadModels(mongo), MongoCatalogTests(mongo), MongoVerdicts(mongo), MongoFailures(mongo)
        sources = ReportSources(*models, SystemClock())
        self._comparisons = Comparisons(sources)
        self._gates = Gates(sources)
        self._build_gates = BuildGates(sources)
        self._newest, self._tests = newest, tests

    async def compare(self) -> None:
        build_comparison = await comparison_message(await self._comparisons.compare(self._newest))
        build_comparison.SerializeToString()
        self._check(len(build_comparison.still_failing))

    async def gate(self) -> None:
        gate = await gate_message(await self._gates.of(GateRequest(EXECUTION, "main")))
        gate.SerializeToString()
        self._check(len(gate.reasons))

    async def build_gate(self) -> None:
        build_gate = await build_gate_message(await self._build_gates.of(self._newest, "main"))
        build_gate.SerializeToString()
        self._check(len(build_gate.reasons))

    def _check(self, failing: int) -> None:
        if failing != self._tests:
            raise RuntimeError("not every test was found to fail")


async def medians(ask: Callable[[History], Awaitable[None]], histories: list[History]) -> list[float]:
    """Milliseconds of each, asked in turns."""
    times: list[list[float]] = [[] for _ in histories]
    for number in range(ROUNDS + 5):
        for place in range(len(histories))[:: 1 if number % 2 else -1]:
            began = time.perf_counter()
            await ask(histories[place])
            times[place].append((time.perf_counter() - began) * 1000)
    return [median(one[5:]) for one in times]


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with mongod(Path(folder) / "mongod") as server:
            mongos = [await Mongo.connect(server.uri, f"builds_{count}") for count in (FEW, MANY)]
            newest = [await fill(mongo, count) for mongo, count in zip(mongos, (FEW, MANY), strict=True)]
            histories = [History(mongo, build) for mongo, build in zip(mongos, newest, strict=True)]
            with bind(Caller(ORG)):
                print(f"| {TESTS} failing tests, median ms | {FEW} builds | {MANY:,} builds | ratio |")
                print("| --- | --- | --- | --- |")
                for name, ask in (
                    ("comparison", History.compare),
                    ("gate", History.gate),
                    ("gate of the build", History.build_gate),
                ):
                    few, many = await medians(ask, histories)
                    print(f"| {name} | {few:.1f} | {many:.1f} | {many / few:.2f} |")
            await asyncio.gather(*(mongo.close() for mongo in mongos))


if __name__ == "__main__":
    uvloop.run(main())
