"""How the cost of lists, searches and starts grows with the number of rows of an organisation.

`python -m benchmarks.growth [ROWS...]` (1,000 and 100,000 unless given) makes an organisation for each number of rows,
all on one stack. It has so many apps, builds of one app, tests and executions, copies of what the services wrote.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import uvloop

from benchmarks import limits
from benchmarks.goals import Goal
from benchmarks.row_copies import START, Origin, fill, plant
from deploy.local import stack
from examples.client import Client
from services.chassis.mongo import Mongo

SIZES = (1_000, 100_000)
ROUNDS = 15
PAGE_SIZE = 50
GROWTH, SEARCH_MS = 2.0, 50.0


@dataclass(frozen=True, slots=True)
class Request:
    """A request of every organisation. `deep`: the page in the middle of the list."""

    name: str
    path: str
    query: Mapping[str, str]
    deep: bool = False
    is_search: bool = False


def _search(kind: str, needle: str, what: str) -> Request:
    return Request(f"{kind}, search for {what}", kind, {"search": needle}, is_search=True)


REQUESTS: Sequence[Request] = (
    Request("apps", "apps", {}),
    Request("apps, middle", "apps", {}, deep=True),
    Request("apps of a platform", "apps", {"platform": "iOS"}),
    _search("apps", "7 wallet", "a tenth"),
    _search("apps", "blue 77", "some"),
    _search("apps", "no such app", "nothing"),
    _search("apps", "wa", "two characters of a tenth"),
    _search("apps", "e", "a character of most"),
    Request("builds", "apps/{app}/builds", {}),
    Request("builds, middle", "apps/{app}/builds", {}, deep=True),
    Request("builds of a version", "apps/{app}/builds", {"version": "1.0.77"}),
    Request("tests", "tests", {}),
    Request("tests, middle", "tests", {}, deep=True),
    Request("tests of a platform", "tests", {"platform": "iOS"}),
    Request("tests with a tag", "tests", {"tag": "tag-7"}),
    _search("tests", "blue 77", "some"),
    Request("executions", "executions", {}),
    Request("executions, middle", "executions", {}, deep=True),
    Request("executions that failed", "executions", {"status": "failed"}),
    Request("executions of a branch", "executions", {"branch": "branch-7"}),
    Request("executions of a commit", "executions", {"commit_sha": "commit-77"}),
    Request("executions of a pull request", "executions", {"pr_number": "77"}),
    Request("failed executions of a branch", "executions", {"status": "failed", "branch": "branch-7"}),
)


@dataclass(frozen=True, slots=True)
class Row:
    """Medians of a request in milliseconds, for each number of rows."""

    name: str
    times: Sequence[float]
    is_search: bool = False

    @property
    def ratio(self) -> float:
        return self.times[-1] / self.times[0]


@dataclass(frozen=True, slots=True)
class Side:
    """A client of an organisation, and the originals of its rows."""

    client: Client
    origin: Origin
    rows: int

    async def ask(self, request: Request) -> None:
        page = self.rows // PAGE_SIZE // 2 if request.deep else 1
        query = {**request.query, "page": str(page), "page_size": str(PAGE_SIZE)}
        await self.client.call("GET", request.path.format(app=self.origin.app_id), params=query)

    async def start(self) -> None:
        await self.client.call("POST", START, json={"workflow_id": self.origin.workflow_id})


async def measure(sizes: Sequence[int] = SIZES) -> list[Row]:
    """Every request in turns of all organisations, on a stack of its own."""
    with tempfile.TemporaryDirectory() as folder:
        async with stack.run_stack(Path(folder), extra_env=limits.ENVIRONMENT) as running:
            origins = []
            for size in sizes:
                organisation = await running.new_organisation(f"{size} rows")
                async with Client(running.url, organisation.api_key) as client:
                    origins.append((organisation, await plant(client)))
            await running.stop("worker-1")
            await _fill_all(running.mongo_uri, [origin for _, origin in origins], sizes)
            clients = [Client(running.url, organisation.api_key) for organisation, _ in origins]
            try:
                pairs = zip(clients, origins, sizes, strict=True)
                return await _compare([Side(client, origin, size) for client, (_, origin), size in pairs])
            finally:
                for client in clients:
                    await client.__aexit__(None, None, None)


async def _fill_all(uri: str, origins: Sequence[Origin], sizes: Sequence[int]) -> None:
    catalog, executor = await Mongo.connect(uri, "catalog"), await Mongo.connect(uri, "executor")
    try:
        for origin, rows in zip(origins, sizes, strict=True):
            await fill(catalog, executor, origin, rows)
    finally:
        await catalog.close()
        await executor.close()


async def _compare(sides: Sequence[Side]) -> list[Row]:
    rows = []
    for request in REQUESTS:
        times = await _medians([partial(side.ask, request) for side in sides])
        rows.append(Row(request.name, times, request.is_search))
    rows.append(Row("start of an execution", await _medians([side.start for side in sides])))
    return rows


async def _medians(calls: Sequence[Any]) -> list[float]:
    times: list[list[float]] = [[] for _ in calls]
    for number in range(ROUNDS + 2):
        for place, call in enumerate(calls):
            began = time.perf_counter()
            await call()
            if number >= 2:
                times[place].append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(0)
    return [median(some) for some in times]


async def goals() -> list[Goal]:
    """The growth of the lists and of starts, and the time of each search."""
    return [_goal(row) for row in await measure()]


def _goal(row: Row) -> Goal:
    figures = " to ".join(f"{each:.1f}" for each in row.times) + f" ms at {SIZES[0]:,} and {SIZES[1]:,} rows"
    if row.is_search:
        return Goal(row.name, row.times[-1], SEARCH_MS, "ms", at_most=True, figures=figures)
    return Goal(f"growth: {row.name}", row.ratio, GROWTH, "x", at_most=True, figures=figures)


async def main(sizes: Sequence[int]) -> None:
    rows = await measure(sizes)
    print("| median ms | " + " | ".join(f"{size:,} rows" for size in sizes) + " | ratio |")
    print("| --- |" + " --- |" * (len(sizes) + 1))
    for row in rows:
        print(f"| {row.name} | " + " | ".join(f"{each:.1f}" for each in row.times) + f" | {row.ratio:.1f} |")


if __name__ == "__main__":
    uvloop.run(main([int(argument) for argument in sys.argv[1:]] or SIZES))
