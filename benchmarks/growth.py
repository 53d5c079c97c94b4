"""How the cost of lists, searches and starts grows with the number of rows of an organisation.

`python -m benchmarks.growth [ROWS...]` (1,000 and 100,000 unless given) makes an organisation for each number of rows,
all on one stack. It has so many builds of one app and executions, and as many apps and tests but at most a million:
copies of what the services wrote.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from statistics import median
from typing import Any

import uvloop
from pymongo import AsyncMongoClient

from benchmarks import limits
from benchmarks.goals import Goal
from benchmarks.row_copies import START, Origin, Rows, fill, plant
from deploy.local import stack
from examples.client import Client, Refused
from services.chassis.mongo import Document, Mongo

SIZES = (1_000, 100_000)
MOST_NAMED = 1_000_000
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
    Request("failed executions of a branch that has none", "executions", {"status": "failed", "branch": "branch-7"}),
)


@dataclass(frozen=True, slots=True)
class Row:
    """Medians of a request in milliseconds, for each number of rows."""

    name: str
    times: Sequence[float]
    is_search: bool = False

    @property
    def ratio(self) -> float:
        return self.times[-1] / self.times[0] if inf not in self.times else inf


@dataclass(frozen=True, slots=True)
class Side:
    """A client of an organisation, and the originals of its rows."""

    client: Client
    origin: Origin
    rows: Rows

    async def ask(self, request: Request) -> None:
        rows = self.rows.named if request.path in ("apps", "tests") else self.rows.others
        page = rows // PAGE_SIZE // 2 if request.deep else 1
        query = {**request.query, "page": str(page), "page_size": str(PAGE_SIZE)}
        await self.client.call("GET", request.path.format(app=self.origin.app_id), params=query)

    async def start(self) -> None:
        await self.client.call("POST", START, json={"workflow_id": self.origin.workflow_id})


async def measure(sizes: Sequence[int] = SIZES) -> AsyncIterator[Row]:
    """Every request in turns of all organisations, on a stack of its own; each row as soon as it is measured."""
    with tempfile.TemporaryDirectory() as folder:
        async with stack.run_stack(Path(folder), extra_env=limits.ENVIRONMENT) as running:
            origins = []
            for size in sizes:
                organisation = await running.new_organisation(f"{size} rows")
                async with Client(running.url, organisation.api_key) as client:
                    origins.append((organisation, await plant(client), Rows(min(size, MOST_NAMED), size)))
            await running.stop("worker-1")
            await _fill_all(running.mongo_uri, [(origin, rows) for _, origin, rows in origins])
            async with AsyncExitStack() as closing:
                sides = []
                for organisation, origin, rows in origins:
                    client = await closing.enter_async_context(Client(running.url, organisation.api_key))
                    sides.append(Side(client, origin, rows))
                async for row in _compare(sides):
                    yield row


async def _fill_all(uri: str, wanted: Sequence[tuple[Origin, Rows]]) -> None:
    async with AsyncMongoClient[Document](uri) as client:  # without the services' timeouts: indexes take minutes
        await fill(Mongo(client, "catalog", "pymongo"), Mongo(client, "executor", "pymongo"), wanted)


async def _compare(sides: Sequence[Side]) -> AsyncIterator[Row]:
    for request in REQUESTS:
        times = await _medians([partial(side.ask, request) for side in sides])
        yield Row(request.name, times, request.is_search)
    yield Row("start of an execution", await _medians([side.start for side in sides]))


async def _medians(calls: Sequence[Any]) -> list[float]:
    """Milliseconds; infinite for what takes longer than a request may."""
    times: list[list[float]] = [[] for _ in calls]
    for number in range(ROUNDS + 2):
        for place, call in enumerate(calls):
            began = time.perf_counter()
            try:
                await call()
            except Refused as error:
                if "DEADLINE_EXCEEDED" not in str(error):
                    raise
                began = -inf
            if number >= 2:
                times[place].append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(0)
    return [median(some) for some in times]


async def goals() -> list[Goal]:
    """The growth of the lists and of starts, and the time of each search."""
    return [_goal(row) async for row in measure()]


def _goal(row: Row) -> Goal:
    figures = " to ".join(f"{each:.1f}" for each in row.times) + f" ms at {SIZES[0]:,} and {SIZES[1]:,} rows"
    if row.is_search:
        return Goal(row.name, row.times[-1], SEARCH_MS, "ms", at_most=True, figures=figures)
    return Goal(f"growth: {row.name}", row.ratio, GROWTH, "x", at_most=True, figures=figures)


async def main(sizes: Sequence[int]) -> None:
    print("| median ms | " + " | ".join(f"{size:,} rows" for size in sizes) + " | ratio |")
    print("| --- |" + " --- |" * (len(sizes) + 1))
    async for row in measure(sizes):
        figures = " | ".join(f"{each:.1f}" for each in (*row.times, row.ratio))
        print(f"| {row.name} | {figures} |", flush=True)


if __name__ == "__main__":
    uvloop.run(main([int(argument) for argument in sys.argv[1:]] or SIZES))
