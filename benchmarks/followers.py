"""Followers of executions by server-sent events on one gateway: `python -m benchmarks.followers [followers]`.

A run of the followed execution is cancelled every so often. The time of a change begins before its transaction, so it
includes storing it, and ends when a follower's process has read it, for every follower and every change.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from statistics import median, quantiles

import aiohttp
import uvloop

from benchmarks import limits
from benchmarks.follower_clients import Followers, raise_file_limit
from benchmarks.goals import Goal, show
from benchmarks.load import Target
from benchmarks.process_memory import resident_bytes
from deploy.local import stack
from deploy.local.stack import Stack
from examples.client import Client, Refused
from services.chassis.migrations import open_migrated
from services.chassis.outbox import Outbox
from services.executor.model.lifecycle import request_cancel
from services.executor.model.runs import RunLimits
from services.executor.storage.migrations import MIGRATIONS
from services.executor.storage.transactions import ExecutionTransactions

FOLLOWERS = 5000
EXECUTIONS = 1000
CHANGES = 20
PAUSE_SECONDS = 0.5
SETTLE_SECONDS = 2.0
CONNECT_SECONDS = 60.0
STARTS_AT_ONCE = 50
START = "execution/api/execute_workflow_id_async"
PROBE_PAUSE_SECONDS = 0.05
PARTS = ("gateway", "executor")
P99_MS = 200.0
KIB = 64.0
BACK_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Spread:
    """Milliseconds from changes to their receipts, how many of these there were, and KiB for each follower."""

    p50: float
    p99: float
    receipts: int
    expected: int
    kib: dict[str, float]

    def goals(self, name: str) -> list[Goal]:
        received = f"p50 {self.p50:.0f} ms; {self.receipts:,} of {self.expected:,} received"
        memory = ", ".join(f"{part} {kib:.1f}" for part, kib in self.kib.items())
        return [
            Goal(f"{name}: p99 of change to receipt", self.p99, P99_MS, "ms", at_most=True, figures=received),
            Goal(f"{name}: memory per follower", sum(self.kib.values()), KIB, "KiB", at_most=True, figures=memory),
        ]


@dataclass(frozen=True, slots=True)
class Restart:
    """Seconds from the readiness of the new gateway until all follow; other requests meanwhile, in milliseconds."""

    seconds: float
    probe_p50: float
    probe_p99: float

    def goals(self, followers: int) -> list[Goal]:
        behind = f"p50 {self.probe_p50:.0f} ms"
        return [
            Goal(f"{followers:,} come back after a restart", self.seconds, BACK_SECONDS, "s", at_most=True),
            Goal("p99 of other requests meanwhile", self.probe_p99, P99_MS, "ms", at_most=True, figures=behind),
        ]


@dataclass(slots=True)
class Bench:
    """A stack without workers. Runs are changed directly in the database, as a worker's process would do it."""

    running: Stack
    client: Client
    transactions: ExecutionTransactions

    async def start(self, tests: int, executions: int = 1) -> dict[str, list[str]]:
        """The ids of the runs of so many executions, of so many runs each."""
        body = {"workflow_id": await self._workflow(tests)}
        runs: dict[str, list[str]] = {}
        for first in range(0, executions, STARTS_AT_ONCE):
            number = min(STARTS_AT_ONCE, executions - first)
            calls = [self.client.call("POST", START, json=body) for _ in range(number)]
            runs |= {started["id"]: [] for started in await asyncio.gather(*calls)}
        cursor = self.transactions.mongo.collection("runs").find({"execution_id": {"$in": list(runs)}})
        for document in await cursor.to_list(None):
            runs[document["execution_id"]].append(document["_id"])
        return runs

    async def _workflow(self, tests: int) -> str:
        build = await self.client.call("POST", "apps", json={"name": "Followed", "platform": "Android"})
        await self.client.upload(build["id"], {"version": "1", "file": "app.bin", "commit": "4f2c1d9"}, b"artifact")
        ids = []
        for number in range(tests):
            test = await self.client.call("POST", "tests", json={"name": f"Test {number}", "steps": ["launchApp"]})
            await self.client.call("PUT", f"apps/{build['id']}/tests/{test['id']}", json={})
            ids.append(test["id"])
        workflow = await self.client.call("POST", "workflows", json={"name": "Followed", "test_ids": ids})
        return str(workflow["id"])

    def followers(self, ids: Sequence[str]) -> Followers:
        return Followers(Target(self.running.url, self.running.api_key), ids)

    def memory(self) -> dict[str, int]:
        return {part: resident_bytes(self.running.pid_of(part)) for part in PARTS}

    async def spread(self, ids: Sequence[str], runs: dict[str, list[str]]) -> Spread:
        """Follow these executions and change CHANGES runs of them, one after the other, after one that connects."""
        before = self.memory()
        async with self.followers(ids) as followers:
            await _follow(followers)
            await asyncio.sleep(SETTLE_SECONDS)
            after = self.memory()
            await self._change(ids[0], runs)
            await asyncio.sleep(SETTLE_SECONDS)
            await followers.receipts()
            began = [await self._change(execution_id, runs) for execution_id in islice(cycle(runs), CHANGES)]
            await asyncio.sleep(SETTLE_SECONDS)
            delays = _delays(began, await followers.receipts())
        expected = sum(ids.count(execution_id) for execution_id, _ in began)
        kib = {part: (after[part] - before[part]) / len(ids) / 1024 for part in PARTS}
        cuts = quantiles(delays, n=100)
        return Spread(median(delays), cuts[98], len(delays), expected, kib)

    async def _change(self, execution_id: str, runs: dict[str, list[str]]) -> tuple[str, float]:
        """Change one run; when the transaction began."""
        began = time.time()
        await self.transactions.change_run(execution_id, runs[execution_id].pop(), request_cancel)
        await asyncio.sleep(PAUSE_SECONDS)
        return execution_id, began

    async def restart(self, ids: Sequence[str]) -> Restart:
        """Restart the gateway under its followers."""
        async with self.followers(ids) as followers:
            await _follow(followers)
            await self.running.restart("gateway")
            began = time.perf_counter()
            back = asyncio.create_task(followers.all_following(CONNECT_SECONDS))
            probes = [asyncio.create_task(self._probe())]
            while not back.done():
                await asyncio.wait({back}, timeout=PROBE_PAUSE_SECONDS)
                probes.append(asyncio.create_task(self._probe()))
            seconds = time.perf_counter() - began if await back else float("inf")
            took = await asyncio.gather(*probes)
        return Restart(seconds, median(took), quantiles(took, n=100)[98])

    async def _probe(self) -> float:
        """Milliseconds of a small read, also of one that was refused."""
        began = time.perf_counter()
        with suppress(Refused, aiohttp.ClientError):
            await self.client.call("GET", "apps", params={"page_size": 1})
        return (time.perf_counter() - began) * 1000


async def _follow(followers: Followers) -> None:
    if not await followers.all_following(CONNECT_SECONDS):
        raise TimeoutError(f"{await followers.following()} follow after {CONNECT_SECONDS:g} s")


def _delays(began: Sequence[tuple[str, float]], receipts: Sequence[tuple[str, int, float]]) -> list[float]:
    """Milliseconds. Changes come one after the other, so that each receipt belongs to the last one before it."""
    changes: dict[str, list[float]] = {}
    for execution_id, at in began:
        changes.setdefault(execution_id, []).append(at)
    return [(at - max(each for each in changes[id_] if each <= at)) * 1000 for id_, _, at in receipts]


@asynccontextmanager
async def bench() -> AsyncIterator[Bench]:
    raise_file_limit()
    with tempfile.TemporaryDirectory() as folder:
        async with (
            stack.run_stack(Path(folder), workers=0, extra_env=limits.ENVIRONMENT) as running,
            Client(running.url, running.api_key) as client,
            open_migrated(running.mongo_uri, "executor", MIGRATIONS) as mongo,
        ):
            yield Bench(running, client, ExecutionTransactions(mongo, Outbox(mongo, "benchmark"), RunLimits()))


async def goals(followers: int = FOLLOWERS) -> list[Goal]:
    """Followers of one execution, of different executions, and a restart of the gateway."""
    async with bench() as running:
        runs = await running.start(CHANGES + 2)  # one more than are changed, so that the execution does not end
        ids = list(runs) * followers
        one = await running.spread(ids, runs)
        restarted = await running.restart(ids)
        runs = await running.start(3, EXECUTIONS)
        different = await running.spread(list(islice(cycle(runs), followers)), runs)
    return [
        *one.goals(f"{followers:,} followers of one execution"),
        *different.goals(f"{followers:,} followers of {EXECUTIONS:,} executions"),
        *restarted.goals(followers),
    ]


if __name__ == "__main__":
    show("Followers", uvloop.run(goals(*map(int, sys.argv[1:]))))
