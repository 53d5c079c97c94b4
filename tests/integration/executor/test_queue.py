"""The queue and the workers over gRPC, with workers that come and go."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mobiletest.executor.v1 import queue_pb2 as pb
from mobiletest.executor.v1 import queue_pb2_grpc
from mobiletest.types.v1 import platform_pb2

from services.chassis.grpc_server import open_channel
from tests.eventually import eventually
from tests.integration.executor.catalog_server import TOKEN


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
