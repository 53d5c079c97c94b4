"""Fairness, limits and supersession with real workers, MongoDB and Kafka."""

import asyncio
from collections import Counter, defaultdict
from contextlib import AsyncExitStack
from typing import Any
from uuid import uuid4

from mobiletest.executor.v1 import executions_pb2 as pb

from mobiletest_automation.model.results import AttemptResult
from services.chassis.context import ALL_SCOPES, Caller, bind
from services.executor.ports.runs import Claim, Progress
from tests.eventually import eventually
from tests.fakes.executor import FakeAttempts
from tests.integration.executor.catalog_server import Shelf

TAKES_SECONDS = 0.05
FLOOD = 60


class Paced(FakeAttempts):
    """Slow attempts; records their organisations and how many of each ran at once."""

    def __init__(self) -> None:
        super().__init__()
        self.order: list[str] = []
        self.now: Counter[str] = Counter()
        self.most: Counter[str] = Counter()

    async def run(self, claim: Claim, progress: Progress) -> AttemptResult:
        org_id = claim.run.org_id
        self.order.append(org_id)
        self.now[org_id] += 1
        self.most[org_id] = max(self.most[org_id], self.now[org_id])
        try:
            await self._go_on(org_id)
        finally:
            self.now[org_id] -= 1
        return AttemptResult(device="phone-1", simulated=True)

    async def _go_on(self, org_id: str) -> None:
        await asyncio.sleep(TAKES_SECONDS)


class Together(Paced):
    """The first attempts of an organisation end only once `number` of them run at the same time."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number
        self._reached: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def _go_on(self, org_id: str) -> None:
        if self.now[org_id] >= self._number:
            self._reached[org_id].set()
        await self._reached[org_id].wait()
        await super()._go_on(org_id)


async def test_a_flooded_queue_does_not_starve_other_organisations(executor: Any, connect: Any, shelf: Shelf) -> None:
    attempts, single = Paced(), str(uuid4())
    flood = shelf.workflow(*(shelf.planned("Tap it") for _ in range(FLOOD)))
    one = shelf.workflow(shelf.planned("Tap it"))
    async with executor(attempts, executor_slots=4) as app, connect(app.grpc_address) as client:
        first = await client.start(flood)
        await eventually(lambda: len(attempts.order) > 4)
        with bind(Caller(org_id=single, scopes=ALL_SCOPES)):
            started = await client.start(one)
            before = len(attempts.order)
            await client.ended(started)
            waited = attempts.order.index(single) - before
        assert waited <= FLOOD // 5  # claims under way, and what a slow machine begins meanwhile
        assert (await client.get(first)).counts.queued > 0
        await client.stub.CancelExecution(pb.CancelExecutionRequest(execution_id=first))


async def test_the_limit_of_an_organisation_holds_over_all_workers(executor: Any, connect: Any, shelf: Shelf) -> None:
    attempts, other = Together(3), str(uuid4())
    many = shelf.workflow(*(shelf.planned("Tap it") for _ in range(9)))
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(executor(attempts, organisation_runs=3, poll_seconds=0.1))
        for _ in range(2):
            worker = executor(attempts, executor_role="worker", organisation_runs=3, poll_seconds=0.1)
            await stack.enter_async_context(worker)
        client = await stack.enter_async_context(connect(app.grpc_address))
        first = await client.start(many)
        with bind(Caller(org_id=other, scopes=ALL_SCOPES)):
            second = await client.start(many)
            assert (await client.ended(second)).counts.passed == 9
        assert (await client.ended(first)).counts.passed == 9
    assert set(attempts.most.values()) == {3}


async def test_the_longest_run_of_an_execution_starts_first(executor: Any, connect: Any, shelf: Shelf) -> None:
    short, long = shelf.planned("Tap it", name="short"), shelf.planned("Tap it", name="long")
    took = {short.test_id: 0.05, long.test_id: 0.5}
    begun: list[str] = []

    class Timed(Paced):
        async def run(self, claim: Claim, progress: Progress) -> AttemptResult:
            begun.append(claim.run.target.test_name)
            await asyncio.sleep(took[claim.run.target.test_id])
            return AttemptResult(device="phone-1", simulated=True)

    workflow_id = shelf.workflow(short, long)
    async with executor(Timed(), executor_slots=1) as app, connect(app.grpc_address) as client:
        await client.ended(await client.start(workflow_id))

        async def begins_with_the_long_one() -> bool:
            begun.clear()
            execution_id = await client.start(workflow_id)
            await client.ended(execution_id)
            assert [run.test_name for run in await client.runs(execution_id)] == ["short", "long"]
            return begun == ["long", "short"]

        assert await eventually(begins_with_the_long_one)
