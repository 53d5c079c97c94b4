"""A history of runs, written as the fold writes it: folded in memory by the same function, each row once.

`python -m benchmarks.history URI DATABASE ROUNDS OTHER_APPS` fills a database with one app (50 builds, 100 tests; each
round is an execution of all tests on each build) and with so many other apps, of a tenth of its rounds.
"""

import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import uvloop
from mobiletest.reporting.v1 import reports_pb2
from mobiletest.types.v1 import execution_pb2

from services.chassis.migrations import open_migrated
from services.chassis.mongo import Mongo
from services.reporting.model.attempts import BuildRef
from services.reporting.model.batch import Batch, Snapshot
from services.reporting.model.projection import fold
from services.reporting.model.snapshots import (
    AppSnapshot,
    AttachmentSnapshot,
    AttemptSnapshot,
    BuildSnapshot,
    ExecutionSnapshot,
    Failure,
    RunSnapshot,
    Status,
    TestSnapshot,
)
from services.reporting.model.tables import Table, Tables
from services.reporting.storage.documents import (
    COUNTERS,
    EXECUTIONS,
    RUNS,
    TABLE_CODECS,
    TableCodec,
    counter_id,
    document_id,
)
from services.reporting.storage.schema import MIGRATIONS

BUILDS, TESTS = 50, 100
BETWEEN_BUILDS = timedelta(days=7)
INSERTED_AT_ONCE = 2000
# Verdicts of the attempts of runs that do not just pass, by the way of their cell.
FAILING = ((False, False), (False, False), (False, True))
REASONS = ('no element "Pay" on the screen', 'expected "Thank you" to be visible within 10 s', "the app crashed")


@dataclass(frozen=True, slots=True)
class App:
    """An app with its builds, oldest first, and its tests. The same number names the same app."""

    org_id: str
    id: str
    builds: list[BuildRef]
    tests: list[str]


def app(number: int) -> App:
    chance = random.Random(number)
    first = datetime.now(UTC).replace(hour=1, minute=0, second=0, microsecond=0) - BUILDS * BETWEEN_BUILDS
    builds = [BuildRef(first + index * BETWEEN_BUILDS, _id(chance), f"1.{index}.0") for index in range(BUILDS)]
    return App("org-1", _id(chance), builds, [_id(chance) for _ in range(TESTS)])


def catalog(told: App) -> Iterator[Snapshot]:
    yield AppSnapshot(told.id, told.org_id, 1, False, "Shop", told.builds[-1].version)
    for build in told.builds:
        yield BuildSnapshot(build.id, told.org_id, 1, False, told.id, build.version, build.uploaded_at)
    for index, test in enumerate(told.tests):
        yield TestSnapshot(test, told.org_id, 1, False, f"Test {index}")
        yield AttachmentSnapshot(told.id, test, told.org_id, 1, True, None, f"Test {index}")


def rounds_of(told: App, build: BuildRef, rounds: int, chance: random.Random) -> Iterator[Snapshot]:
    """Executions of all tests on a build, spread over the week in which it is the newest one."""
    for number in range(rounds):
        at = build.uploaded_at + timedelta(hours=1) + number * (BETWEEN_BUILDS - timedelta(hours=3)) / rounds
        at = at.replace(microsecond=at.microsecond // 1000 * 1000)
        execution_id = _id(chance)
        yield ExecutionSnapshot(execution_id, told.org_id, 1, TESTS)
        for index, test in enumerate(told.tests):
            verdicts = _verdicts(told.builds.index(build), index, number)
            yield _run(told, build, chance, execution_id=execution_id, test=(index, test), at=at, verdicts=verdicts)


def _verdicts(build: int, test: int, number: int) -> tuple[bool, ...]:
    """Each cell passes or fails in its own way, so that a short history shows the same failures as a long one."""
    way = (7 * test + 3 * build) % 25
    if number % 2 and way < len(FAILING):
        return FAILING[way]
    return (True,)


def _run(
    told: App,
    build: BuildRef,
    chance: random.Random,
    *,
    execution_id: str,
    test: tuple[int, str],
    at: datetime,
    verdicts: tuple[bool, ...],
) -> RunSnapshot:
    failure = Failure("element_not_found", REASONS[test[0] % len(REASONS)], "tapOn", 2)
    attempts = tuple(
        AttemptSnapshot(number, at + timedelta(seconds=10 * number), passed, None if passed else failure)
        for number, passed in enumerate(verdicts, start=1)
    )
    run_id, ended_at = _id(chance), at + timedelta(seconds=60)
    return RunSnapshot(
        run_id=run_id,
        org_id=told.org_id,
        revision=3,
        execution_id=execution_id,
        test_id=test[1],
        test_name=f"Test {test[0]}",
        test_version=1,
        status=Status.COMPLETED,
        event_time=ended_at,
        app_id=told.id,
        build=build,
        success=verdicts[-1],
        started_at=at,
        completed_at=ended_at,
        seconds=60.0,
        branch="main",
        commit_sha=build.id,
        created_at=at,
        attempts=attempts,
        list_item=_list_item(run_id, execution_id, test, build, at=at, success=verdicts[-1]),
    )


def _list_item(
    run_id: str, execution_id: str, test: tuple[int, str], build: BuildRef, *, at: datetime, success: bool
) -> bytes:
    item = reports_pb2.BuildRunItem()
    item.CopyFrom(_LIKE)
    item.run_id, item.execution_id, item.test_id, item.test_name = run_id, execution_id, test[1], f"Test {test[0]}"
    item.success, item.resolved_build_version = success, build.version
    item.started_at.FromDatetime(at)
    item.completed_at.FromDatetime(at + timedelta(seconds=60))
    return item.SerializeToString()


def _like() -> reports_pb2.BuildRunItem:
    item = reports_pb2.BuildRunItem(
        status=execution_pb2.EXECUTION_STATUS_COMPLETED,
        source=execution_pb2.EXECUTION_SOURCE_CI,
        execution_time_seconds=60,
    )
    item.metadata.update({"system": "github", "commit_sha": "5f" * 20, "branch": "main", "pr_number": 1234})
    item.metadata.update({"run_url": "https://ci.example/actions/runs/1", "device": "Pixel 8", "attempts": 1})
    item.report_metadata.update({"category": None, "top_failure": None, "flaky": False, "artifacts": []})
    return item


_LIKE = _like()


def _id(chance: random.Random) -> str:
    return str(UUID(int=chance.getrandbits(128), version=4))


class Writer:
    """Writes rows that are new, each once."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo

    async def history(
        self, told: App, rounds: int, chance: random.Random, kinds: Sequence[TableCodec[Any, Any]] = TABLE_CODECS
    ) -> None:
        """One app, the rows of these kinds. Runs and executions are written as soon as they are folded, for each is
        told once.
        """
        tables = Tables()
        fold(tables, Batch.of(catalog(told)))
        for build in told.builds:
            fold(tables, Batch.of(rounds_of(told, build, rounds, chance)))
            await self._write(RUNS, tables.runs)
            await self._write(EXECUTIONS, tables.executions)
            tables.runs, tables.executions = Table(), Table()
        for kind in kinds:
            await self._write(kind, getattr(tables, kind.table))
        counted = [
            {"_id": counter_id(org_id, name), "org_id": org_id, **fields}
            for (org_id, name), fields in tables.counters.rows()
        ]
        # reporting may have counted the builds of an app that it knows
        await self._mongo.collection(COUNTERS).delete_many({"_id": {"$in": [each["_id"] for each in counted]}})
        await self._insert(COUNTERS, counted)

    async def _write(self, kind: TableCodec[Any, Any], table: Table[Any, Any]) -> None:
        await self._insert(
            kind.collection, [{"_id": document_id(key), **kind.encode(key, row)} for key, row in table.rows()]
        )

    async def _insert(self, collection: str, documents: Iterable[dict[str, object]]) -> None:
        waiting = list(documents)
        for start in range(0, len(waiting), INSERTED_AT_ONCE):
            await self._mongo.collection(collection).insert_many(
                waiting[start : start + INSERTED_AT_ONCE], ordered=False
            )


async def fill(uri: str, database: str, rounds: int, other_apps: int) -> None:
    """A whole database. Apps with numbers from 1 are the others."""
    async with open_migrated(uri, database, MIGRATIONS, "pymongo") as mongo:
        for number in range(1 + other_apps):
            await Writer(mongo).history(app(number), rounds if not number else rounds // 10, random.Random(number))


if __name__ == "__main__":
    uvloop.run(fill(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
