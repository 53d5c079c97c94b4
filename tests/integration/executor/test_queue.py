"""The queue and the workers over gRPC, with workers that come and go."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from mobiletest.executor.v1 import queue_pb2 as pb
from mobiletest.executor.v1 import queue_pb2_grpc
from mobiletest.types.v1 import platform_pb2

from services.chassis.context import ALL_SCOPES, Caller, bind
from services.chassis.grpc_server import open_channel
from tests.eventually import eventually
from tests.integration.executor.catalog_server import TOKEN, Shelf


@asynccontextmanager
async def queue_of(address: str) -> AsyncIterator[Any]:
    async with open_channel(address, TOKEN, timeout=20) as channel:
        yield queue_pb2_grpc.QueueStub(channel)  # type: ignore[no-untyped-call]


async def test_a_worker_is_listed_from_its_start_to_its_end(executor: Any) -> None:
    async with executor(executor_role="api") as api, queue_of(api.grpc_address) as queue:

        async def workers() -> list[pb.Worker]:
            return list((await queue.ListWorkers(pb.ListWorkersRequest())).items)

        assert await workers() == []
        async with executor(executor_role="worker", instance="worker-7", executor_slots=3):
            [worker] = await eventually(workers)
            assert (worker.name, worker.state, worker.slots) == ("worker-7", pb.WORKER_STATE_ACTIVE, 3)
            android = next(each for each in worker.pools if each.platform == platform_pb2.PLATFORM_ANDROID)
            assert (android.simulated, android.slots, android.busy, android.shared) == (True, 4, 0, False)
            assert {device.state for device in android.devices} == {pb.DEVICE_STATE_FREE}
            assert android.devices[0].name == "simulated-android-1"
        assert await workers() == []


async def test_waiting_runs_say_that_there_is_no_worker(executor: Any, connect: Any, shelf: Shelf) -> None:
    """Only to their organisation."""
    async with executor(executor_role="api") as api, connect(api.grpc_address) as client:
        execution_id = await client.start(shelf.workflow(shelf.planned("Tap it", name="Log in")), priority=4)
        async with queue_of(api.grpc_address) as queue:
            found = await queue.ListQueuedRuns(pb.ListQueuedRunsRequest())
            with bind(Caller(org_id=str(uuid4()), scopes=ALL_SCOPES)):
                foreign = await queue.ListQueuedRuns(pb.ListQueuedRunsRequest())
        [run] = found.items
        assert (found.total, found.held_back, found.running) == (1, 0, 0)
        assert (run.execution_id, run.test_name, run.priority, run.ahead) == (execution_id, "Log in", 4, 0)
        assert (run.reason, run.attempt_number) == (pb.WAIT_REASON_NO_WORKER, 0)
        assert run.waiting_since.seconds > 0
        assert (list(foreign.items), foreign.total) == ([], 0)
