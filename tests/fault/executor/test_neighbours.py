"""Attempts that compute without end beside the runs of another organisation, on one worker."""

import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from statistics import quantiles
from time import monotonic
from uuid import uuid4

from mobiletest.executor.v1 import executions_pb2 as pb
from mobiletest.types.v1 import execution_pb2

from services.chassis.context import Caller, bind
from services.executor.events import RUN_REQUESTS
from tests.eventually import eventually
from tests.fault.counting import record
from tests.fault.executor.conftest import Workers
from tests.integration.executor.catalog_server import Shelf
from tests.integration.executor.conftest import Client, Run
from tests.integration.executor.models import GOOD, SEE, model

BURNERS = int(os.environ.get("BURNERS", "3"))
ELEMENTS = int(os.environ.get("ELEMENTS", "2000"))
IDLE_RUNS = int(os.environ.get("IDLE_RUNS", "5"))
SESSION_SECONDS = 6
# Logged by each platform's consumer. A worker is ready, and searches for runs, before the broker has let it in.
JOINED = "kafka_partitions_assigned"
# Longer than the leases and twice a session in Kafka, at whose ends a worker that is kept from working is noticed.
BURNING_SECONDS = float(os.environ.get("BURNING", "15"))


def burning_workflow(shelf: Shelf) -> str:
    """A workflow whose run computes for minutes: each step renders all elements of its app."""
    elements = ", ".join(["{type: text, text: A row}"] * ELEMENTS)
    build_id = shelf.build(
        f"app_model: 1\napp: {{id: a}}\nstart: a\nscreens: {{a: {{elements: [{elements}]}}}}".encode()
    )
    look = {"repeat": {"times": 900, "commands": [{"assertNotVisible": "Nothing"}, {"assertNotVisible": "Nobody"}]}}
    return shelf.workflow(shelf.planned("launchApp", look, build_id=build_id))


async def seconds_of_runs(client: Client, workflow_id: str, enough: Callable[[int], bool]) -> list[float]:
    """How long runs take from their start to their verdict, one after the other, until there are enough."""
    took: list[float] = []
    while not enough(len(took)):
        execution_id = await client.start(workflow_id)
        ended = await client.ended(execution_id, within=120)
        assert ended.success, ended
        took.append((ended.completed_at.ToDatetime() - ended.created_at.ToDatetime()).total_seconds())
    return took


async def test_runs_that_compute_hurt_no_other_run(
    executor: Run,
    connect: Callable[[str], AbstractAsyncContextManager[Client]],
    workers: Workers,
    shelf: Shelf,
    caller: Caller,
) -> None:
    """Leases are renewed, the worker stays in its consumer groups, and another organisation's runs pass meanwhile.

    How long these take beside it is recorded; no test fails by the clock of a machine that others use too.
    """
    workers.environment["MOBILETEST_KAFKA_SESSION_SECONDS"] = str(SESSION_SECONDS)
    short = shelf.workflow(shelf.planned(GOOD, SEE, build_id=shelf.build(model(step_ms=100))))
    async with executor(executor_role="api") as app, connect(app.grpc_address) as client:
        [name] = await workers.start_ready()
        await eventually(lambda: workers.log(name).count(JOINED) >= len(RUN_REQUESTS), within=120)
        await seconds_of_runs(client, short, lambda done: done == 1)
        idle = await seconds_of_runs(client, short, lambda done: done == IDLE_RUNS)
        assigned = workers.log(name).count(JOINED)
        burner = replace(caller, org_id=str(uuid4()))
        with bind(burner):
            workflow_id = burning_workflow(shelf)
            burning = [await client.start(workflow_id) for _ in range(BURNERS)]
            for execution_id in burning:
                await client.running(execution_id)
        until = monotonic() + BURNING_SECONDS
        beside = await seconds_of_runs(client, short, lambda done: done >= 2 and monotonic() > until)
        with bind(burner):
            runs = [run for execution_id in burning for run in await client.runs(execution_id)]
            for execution_id in burning:
                await client.stub.CancelExecution(pb.CancelExecutionRequest(execution_id=execution_id))
            ended = [await client.ended(execution_id) for execution_id in burning]
    log = workers.log(name)
    assert beside
    p99 = {when: round(quantiles(took, n=100)[-1], 3) for when, took in (("idle", idle), ("beside", beside))}
    record("CPU", "runs beside attempts that compute", tried=len(beside), survived=len(beside), **p99)
    for run in runs:
        assert (run.status, len(run.attempts)) == (execution_pb2.EXECUTION_STATUS_RUNNING, 1), run.attempts
    assert {execution.status for execution in ended} == {execution_pb2.EXECUTION_STATUS_CANCELLED}
    for event in ("leases_not_renewed", "run_was_fenced", "run_was_lost", "kafka_consumer_disconnected"):
        assert event not in log
    assert log.count(JOINED) == assigned
