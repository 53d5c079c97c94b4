"""Shutdown of a worker, and workers that were frozen (SIGSTOP)."""

import os
import random
import signal
from collections import Counter
from time import monotonic
from typing import Any

import pytest
from mobiletest.executor.v1 import runs_pb2
from mobiletest.types.v1 import execution_pb2

from tests.eventually import eventually
from tests.fault.counting import record
from tests.fault.executor.conftest import LEASE_SECONDS, Workers
from tests.fault.executor.test_workers import _victim, check_attempts, check_history, long_workflow
from tests.integration.executor.catalog_server import Shelf
from tests.integration.executor.conftest import Client

FREEZES = int(os.environ.get("KILLS", "3"))
# A worker gives its runs 5 seconds less: many times what the short run needs, less than the long one can take.
GRACE_SECONDS = 15


async def _under_way(client: Client, execution_id: str) -> str:
    """Wait until the execution's run has passed a step; returns the name of its worker.

    On a busy machine the process of a first attempt takes seconds to start.
    """

    async def probe() -> str:
        [run] = await client.runs(execution_id)
        steps = [step for attempt in run.attempts[-1:] for step in attempt.steps]
        passed = any(step.status == runs_pb2.STEP_STATUS_PASSED for step in steps)
        return str(run.attempts[-1].worker) if passed else ""

    return await eventually(probe)


async def test_shutdown_finishes_short_runs_and_hands_back_long_ones(
    executor: Any, connect: Any, shelf: Shelf, workers: Workers
) -> None:
    """A run that continues much sooner than its lease ends was handed over."""
    workers.environment |= {
        "MOBILETEST_LEASE_SECONDS": "600",
        "MOBILETEST_SHUTDOWN_GRACE_SECONDS": str(GRACE_SECONDS),
        "MOBILETEST_EXECUTOR_SLOTS": "2",
    }
    async with executor(executor_role="api", lease_seconds=600.0) as api, connect(api.grpc_address) as client:
        [first] = await workers.start_ready()
        short = await client.start(long_workflow(shelf, steps=15))
        long = await client.start(long_workflow(shelf, steps=200))
        assert [await _under_way(client, started) for started in (short, long)] == [first, first]
        waiting = await client.start(long_workflow(shelf, steps=2))
        stopped_at = monotonic()
        assert await workers.end(first, signal.SIGTERM) == 0
        took = monotonic() - stopped_at
        [done] = await client.runs(short)
        assert (done.success, done.attempt_number, done.attempts[0].worker) == (True, 1, first)
        [left], [untouched] = await client.runs(long), await client.runs(waiting)
        assert left.attempts[-1].failure.category == execution_pb2.FAILURE_CATEGORY_EXECUTOR_LOST
        assert not untouched.attempts
        [second] = await workers.start_ready()
        taken: bool = await eventually(lambda: _taken(client, long, second))
        assert taken
        for execution_id in (long, waiting):
            assert (await client.ended(execution_id, within=90)).success
            await check_history(client, execution_id)
        record("F02", "runs of a worker that stops", tried=3, survived=3, exit_seconds=round(took, 1))


async def _taken(client: Client, execution_id: str, worker: str) -> bool:
    [run] = await client.runs(execution_id)
    return bool(run.attempts[-1].worker == worker)


@pytest.mark.timeout(1800)
async def test_frozen_workers_lose_no_run_and_write_no_verdict_twice(
    executor: Any, connect: Any, shelf: Shelf, workers: Workers
) -> None:
    """Workers frozen beyond their leases at random times under load: each run has one verdict from one attempt."""
    chance = random.Random(3)
    workflow_id = long_workflow(shelf, runs=6)
    async with executor(executor_role="api", lease_seconds=LEASE_SECONDS) as api, connect(api.grpc_address) as client:
        names = await workers.start_ready(2)
        started = []
        for _ in range(FREEZES):
            started += [await client.start(workflow_id) for _ in range(2)]
            zombie = await _victim(client, started, workers, chance)
            await _freeze(client, started, workers, zombie)
        counts: Counter[str] = Counter()
        for execution_id in started:
            await client.ended(execution_id, within=120)
            runs = await client.runs(execution_id)
            check_attempts(runs)
            await check_history(client, execution_id)
            counts["ended"] += len(runs)
            counts["taken over"] += sum(run.attempt_number > 1 for run in runs)
            for run in runs:
                assert sum(attempt.HasField("success") for attempt in run.attempts) <= 1
        assert counts["ended"] == len(started) * 6
        assert counts["taken over"] > 0
        dropped = sum(workers.log(name).count(words) for name in names for words in ("run_was_lost", "run_was_fenced"))
        assert dropped > 0
        record("F03", "runs under frozen workers", tried=len(started) * 6, survived=counts["ended"], dropped=dropped)


async def _freeze(client: Client, started: list[str], workers: Workers, zombie: str) -> None:
    """Freeze the worker until all its runs were revoked, then let it continue."""
    workers.signal(zombie, signal.SIGSTOP)

    async def robbed() -> bool:
        runs = [run for execution_id in started for run in await client.runs(execution_id)]
        held = [run for run in runs if run.attempts and not run.attempts[-1].HasField("completed_at")]
        return all(run.attempts[-1].worker != zombie for run in held)

    taken: bool = await eventually(robbed, every=0.1)
    assert taken
    workers.signal(zombie, signal.SIGCONT)


async def test_a_worker_frozen_for_less_than_half_its_lease_keeps_its_runs(
    executor: Any, connect: Any, shelf: Shelf, workers: Workers
) -> None:
    """For example by a long garbage collection or a starved CPU."""
    lease = 16.0
    workers.environment["MOBILETEST_LEASE_SECONDS"] = str(lease)
    async with executor(executor_role="api", lease_seconds=lease) as api, connect(api.grpc_address) as client:
        [first] = await workers.start_ready()
        execution_id = await client.start(long_workflow(shelf, steps=60))
        await client.running(execution_id)
        await workers.start()
        workers.signal(first, signal.SIGSTOP)
        frozen_at = monotonic()
        await eventually(lambda: monotonic() - frozen_at > lease * 0.45)
        workers.signal(first, signal.SIGCONT)
        assert (await client.ended(execution_id)).success
        [run] = await client.runs(execution_id)
        assert [attempt.worker for attempt in run.attempts] == [first]
        record("F03", "runs of workers that paused shortly", tried=1, survived=1)
