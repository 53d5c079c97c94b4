"""Workers that are killed, stopped and frozen during runs: every run ends once, with increasing attempt numbers."""

import os
import random
import signal
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from mobiletest.executor.v1 import executions_pb2 as pb
from mobiletest.executor.v1 import runs_pb2
from mobiletest.types.v1 import execution_pb2

from tests.eventually import eventually
from tests.fault.counting import record
from tests.fault.executor.conftest import LEASE_SECONDS, Workers
from tests.integration.executor.catalog_server import Shelf
from tests.integration.executor.conftest import TERMINAL, Client
from tests.integration.executor.models import GOOD, SEE, model

KILLS = int(os.environ.get("KILLS", "3"))
RUNS_EACH = 6


def long_workflow(shelf: Shelf, *, runs: int = 1, steps: int = 12, step_ms: int = 100) -> str:
    """A workflow whose runs take `steps` times `step_ms` of real time."""
    build_id = shelf.build(model(step_ms=step_ms))
    return shelf.workflow(*(shelf.planned(GOOD, *[SEE] * (steps - 1), build_id=build_id) for _ in range(runs)))


async def owner(client: Client, execution_ids: Sequence[str]) -> dict[str, str]:
    """The workers of the running runs, by run."""
    owners = {}
    for execution_id in execution_ids:
        listed = await client.stub.ListRuns(pb.ListRunsRequest(execution_id=execution_id))
        for run in listed.items:
            if run.status == execution_pb2.EXECUTION_STATUS_RUNNING and not run.attempts[-1].HasField("completed_at"):
                owners[run.id] = run.attempts[-1].worker
    return owners


async def check_history(client: Client, execution_id: str) -> None:
    """One terminal event per run and execution; attempts, statuses and sequence numbers only increase."""
    request = pb.WatchExecutionRequest(execution_id=execution_id)
    events = [event async for event in client.stub.WatchExecution(request)]
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    histories: dict[str, list[runs_pb2.Run]] = {}
    for event in events:
        if event.HasField("run"):
            histories.setdefault(event.run.id, []).append(event.run)
    for history in histories.values():
        assert [run.status in TERMINAL for run in history] == [False] * (len(history) - 1) + [True]
        assert sorted(run.attempt_number for run in history) == [run.attempt_number for run in history]
        assert sorted(run.status for run in history) == [run.status for run in history]
    ends = [event for event in events if event.HasField("execution") and event.execution.status in TERMINAL]
    assert len(ends) == 1
    assert events[-1] == ends[0]


def check_attempts(runs: Sequence[runs_pb2.Run]) -> None:
    """Attempts are numbered from 1, and every run that did not pass lost its worker too often."""
    for run in runs:
        assert [attempt.number for attempt in run.attempts] == list(range(1, len(run.attempts) + 1))
        lost = [a for a in run.attempts if a.failure.category == execution_pb2.FAILURE_CATEGORY_EXECUTOR_LOST]
        assert run.success or len(lost) == 3, run
        assert run.success or run.status == execution_pb2.EXECUTION_STATUS_FAILED


@pytest.mark.timeout(1800)
async def test_killed_workers_lose_no_run_and_duplicate_no_verdict(
    executor: Any, connect: Any, shelf: Shelf, workers: Workers
) -> None:
    """KILLS workers are killed under load; every started run ends with one verdict."""
    chance = random.Random(7)
    workflow_id = long_workflow(shelf, runs=RUNS_EACH)
    async with executor(executor_role="api", lease_seconds=LEASE_SECONDS) as api, connect(api.grpc_address) as client:
        await workers.start_ready(3)
        started = []
        for _ in range(KILLS):
            started += [await client.start(workflow_id) for _ in range(2)]
            victim = await _victim(client, started, workers, chance)
            await workers.end(victim, signal.SIGKILL)
            await workers.start()
        counts: Counter[str] = Counter()
        for execution_id in started:
            await client.ended(execution_id, within=300)
            runs = await client.runs(execution_id)
            check_attempts(runs)
            await check_history(client, execution_id)
            counts["ended"] += len(runs)
            counts["taken over"] += sum(run.attempt_number > 1 for run in runs)
            counts["passed"] += sum(run.success for run in runs)
        assert counts["ended"] == len(started) * RUNS_EACH
        assert counts["taken over"] > 0
        record(
            "F01",
            "runs under which executor workers were killed with SIGKILL",
            tried=len(started) * RUNS_EACH,
            survived=counts["ended"],
            kills=KILLS,
            taken_over=counts["taken over"],
            passed=counts["passed"],
        )


async def _victim(client: Client, started: Sequence[str], workers: Workers, chance: random.Random) -> str:
    """A worker that executes a run."""

    async def busy() -> list[str]:
        owners = set((await owner(client, started[-4:])).values())
        return sorted(owners & workers.running.keys())

    busy_workers: list[str] = await eventually(busy)
    return chance.choice(busy_workers)


async def test_a_run_that_loses_every_worker_ends_as_executor_lost(
    executor: Any, connect: Any, shelf: Shelf, workers: Workers
) -> None:
    """After three lost workers in a row the run ends without a verdict and with the reason."""
    async with (
        executor(executor_role="api", lease_seconds=LEASE_SECONDS) as api,
        connect(api.grpc_address) as client,
    ):
        execution_id = await client.start(long_workflow(shelf, steps=600))
        for _ in range(3):
            [worker] = await workers.start_ready()
            assert await _victim(client, [execution_id], workers, random.Random(1)) == worker
            await workers.end(worker, signal.SIGKILL)
        execution = await client.ended(execution_id)
        assert execution.status == execution_pb2.EXECUTION_STATUS_FAILED
        assert execution.failure.category == execution_pb2.FAILURE_CATEGORY_EXECUTOR_LOST
        check_attempts(await client.runs(execution_id))
        await check_history(client, execution_id)
