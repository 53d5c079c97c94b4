"""F14: a worker whose clock is ten minutes off. Leases are judged by the database's clock, so nothing changes.

libfaketime shifts every clock of the process but the monotonic one, C code included.
"""

import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from mobiletest.types.v1 import execution_pb2

from tests.conftest import skip_or_fail
from tests.fault.counting import record
from tests.fault.executor.conftest import LEASE_SECONDS, Workers
from tests.fault.executor.test_workers import check_history, long_workflow
from tests.integration.executor.catalog_server import Shelf

RUNS = 6
# Long enough for a loaded machine, and shorter than a run.
RENEWED_SECONDS = 5.0
SLACK = timedelta(seconds=5)


@pytest.fixture
def libfaketime() -> str:
    library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
    if library is None:
        skip_or_fail("libfaketime is not installed; on Debian: apt-get install faketime")
    return str(library)


def _time(moment: Timestamp) -> datetime:
    return moment.ToDatetime(UTC)


@pytest.mark.parametrize("offset", ["+10m", "-10m"], ids=["ahead", "behind"])
async def test_a_wrong_clock_changes_no_lease_and_no_duration(
    executor: Any, connect: Any, shelf: Shelf, workers: Workers, libfaketime: str, offset: str
) -> None:
    """Runs that outlast their lease end on the attempt that they began with, at times of the right clock."""
    workers.environment["MOBILETEST_EXECUTOR_SLOTS"] = str(RUNS // 2)
    workers.environment["MOBILETEST_LEASE_SECONDS"] = str(RENEWED_SECONDS)
    workflow_id = long_workflow(shelf, runs=RUNS, steps=10, step_ms=700)
    async with executor(executor_role="api", lease_seconds=RENEWED_SECONDS) as api, connect(api.grpc_address) as client:
        [right] = await workers.start_ready()
        workers.environment |= {
            "LD_PRELOAD": libfaketime,
            "FAKETIME": offset,
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        [wrong] = await workers.start_ready()
        began = datetime.now(UTC) - SLACK
        execution_id = await client.start(workflow_id)
        assert (await client.ended(execution_id, within=90)).success
        ended = datetime.now(UTC) + SLACK
        runs = await client.runs(execution_id)
        assert {attempt.worker for run in runs for attempt in run.attempts} == {right, wrong}
        assert [len(run.attempts) for run in runs] == [1] * RUNS, runs
        for run in runs:
            [attempt] = run.attempts
            times = [run.started_at, attempt.started_at, attempt.completed_at, run.completed_at]
            moments = [began, *map(_time, times), ended]
            assert moments == sorted(moments), run
            assert run.execution_time_seconds > RENEWED_SECONDS
            assert all(step.duration_seconds >= 0 for step in attempt.steps)
        await check_history(client, execution_id)
        assert _skewed(workers.log(wrong)), "the worker's clock was not off"
        record("F14", f"runs beside a clock that is off by {offset}", tried=RUNS, survived=len(runs))


def _skewed(log: str) -> bool:
    """Whether the worker's own log is minutes away from now."""
    written = datetime.fromisoformat(log.split('"timestamp":"', 1)[1].split('"', 1)[0].replace("Z", "+00:00"))
    return abs(written - datetime.now(UTC)) > timedelta(minutes=8)


async def test_a_worker_with_a_wrong_clock_takes_over_runs_in_time(
    executor: Any, connect: Any, shelf: Shelf, workers: Workers, libfaketime: str
) -> None:
    """Neither earlier than the lease's end nor ten minutes after it."""
    async with executor(executor_role="api", lease_seconds=LEASE_SECONDS) as api, connect(api.grpc_address) as client:
        first = await workers.start()
        execution_id = await client.start(long_workflow(shelf, steps=150))
        await client.running(execution_id)
        workers.environment |= {"LD_PRELOAD": libfaketime, "FAKETIME": "-10m", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        [second] = await workers.start_ready()
        await workers.end(first, signal.SIGKILL)
        assert (await client.ended(execution_id)).success
        [run] = await client.runs(execution_id)
        names = [attempt.worker for attempt in run.attempts]
        # On a busy machine a worker may lose a lease of 2 s by itself, and begins once more.
        assert list(dict.fromkeys(names)) == [first, second]
        lost, taken = run.attempts[names.index(second) - 1 :][:2]
        assert lost.failure.category == execution_pb2.FAILURE_CATEGORY_EXECUTOR_LOST
        assert _time(taken.started_at) - _time(lost.completed_at) < timedelta(seconds=20)
        await check_history(client, execution_id)
        record("F14", "runs taken over by a worker whose clock is off", tried=1, survived=1)
