"""Outages of the broker and of MongoDB: nothing is lost, and no restart is needed."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest
from mobiletest.executor.v1 import executions_pb2 as pb
from mobiletest.types.v1 import execution_pb2

from deploy.local.broker import Broker, broker
from deploy.local.mongod import Mongod, mongod
from services.executor.settings import Settings
from tests.eventually import eventually
from tests.fakes.executor import FakeAttempts
from tests.integration.executor.catalog_server import TOKEN, Shelf, serving
from tests.integration.executor.conftest import Client
from tests.integration.executor.models import GOOD, SEE, model


@pytest.fixture
async def own_broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with broker(tmp_path / "broker.log") as started:
        yield started


@pytest.fixture
async def own_mongod(tmp_path: Path) -> AsyncIterator[Mongod]:
    async with mongod(tmp_path / "mongod") as started:
        yield started


async def test_without_a_broker_starts_succeed_and_runs_are_found(
    executor: Any, connect: Any, shelf: Shelf, own_broker: Broker
) -> None:
    """Kafka only makes claims faster; unpublished events are published when it is back."""
    workflow_id = shelf.workflow(shelf.planned("Tap it"))
    async with (
        executor(FakeAttempts(), kafka_bootstrap=own_broker.bootstrap) as app,
        connect(app.grpc_address) as client,
    ):
        assert (await client.ended(await client.start(workflow_id))).success
        await own_broker.stop()
        assert (await client.ended(await client.start(workflow_id))).success
        await own_broker.start()
        assert (await client.ended(await client.start(workflow_id))).success


async def test_an_executor_starts_without_a_broker(
    executor: Any, connect: Any, shelf: Shelf, own_broker: Broker
) -> None:
    await own_broker.stop()
    workflow_id = shelf.workflow(shelf.planned("Tap it"))
    async with (
        executor(FakeAttempts(), kafka_bootstrap=own_broker.bootstrap) as app,
        connect(app.grpc_address) as client,
    ):
        assert (await client.ended(await client.start(workflow_id))).success


async def test_without_mongodb_starts_are_unavailable_and_running_runs_end_later(
    executor: Any, connect: Any, shelf: Shelf, own_mongod: Mongod
) -> None:
    """The verdict reached during the outage is written to the same attempt, although its lease has expired."""
    attempts = FakeAttempts(blocking=True)
    workflow_id = shelf.workflow(shelf.planned("Tap it"))
    async with (
        executor(attempts, mongo_uri=own_mongod.uri, lease_seconds=3.0) as app,
        connect(app.grpc_address) as client,
    ):
        execution_id = await client.start(workflow_id)
        await eventually(lambda: attempts.begun)
        await own_mongod.stop()
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await client.start(workflow_id)
        assert raised.value.code() is grpc.StatusCode.UNAVAILABLE
        attempts.release.set()
        await own_mongod.start()
        execution = await _ended_after_outage(client, execution_id)
        assert execution.success
        [run] = await client.runs(execution_id)
        assert run.attempt_number == len(attempts.begun)
        assert (await client.ended(await client.start(workflow_id))).success


async def _ended_after_outage(client: Client, execution_id: str) -> Any:
    """The ended execution; calls may still be refused while the database recovers."""

    async def probe() -> Any:
        try:
            execution = await client.get(execution_id)
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                raise
            return None
        return execution if execution.status == execution_pb2.EXECUTION_STATUS_COMPLETED else None

    return await eventually(probe)


async def test_without_a_catalog_starts_are_unavailable(
    executor: Any, connect: Any, settings: Callable[..., Settings]
) -> None:
    async with (
        executor(executor_role="api", catalog_address="127.0.0.1:9", service_token=TOKEN) as app,
        connect(app.grpc_address) as client,
    ):
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await client.start("6f1b1f0e-5b0f-4d3e-9d1c-6d1f2a7c9b10")
        assert raised.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_runs_wait_for_the_catalog(executor: Any, connect: Any) -> None:
    """A worker that has no file of the build claims nothing meanwhile, so the outage costs no attempt."""
    shelf, calls = Shelf(), 0

    async def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        calls += 1
        writer.close()

    workflow_id = shelf.workflow(shelf.planned(GOOD, SEE, build_id=shelf.build(model())))
    async with AsyncExitStack() as worker, AsyncExitStack() as catalog:
        address = (await catalog.enter_async_context(serving(shelf))).address
        api = executor(executor_role="api", catalog_address=address)
        async with api as app, connect(app.grpc_address) as client:
            execution_id = await client.start(workflow_id)
            await catalog.aclose()
            host, port = address.split(":")
            async with await asyncio.start_server(refuse, host, int(port)) as refusing:
                await worker.enter_async_context(executor(executor_role="worker", catalog_address=address))
                await eventually(lambda: calls >= 4)
                refusing.close()
            async with serving(shelf, listen=address):
                assert (await client.ended(execution_id)).success
                [run] = await client.runs(execution_id)
                assert run.attempt_number == 1


async def test_watchers_are_released_on_shutdown(executor: Any, connect: Any, shelf: Shelf) -> None:
    """They get UNAVAILABLE at once, and can resume elsewhere from the last sequence number."""
    workflow_id = shelf.workflow(shelf.planned("Tap it"))
    async with AsyncExitStack() as server:
        app = await server.enter_async_context(executor(executor_role="api"))
        async with connect(app.grpc_address) as client:
            execution_id = await client.start(workflow_id)
            stream = client.stub.WatchExecution(pb.WatchExecutionRequest(execution_id=execution_id))
            assert [(await stream.read()).sequence for _ in range(2)] == [1, 2]
            await server.aclose()
            with pytest.raises(grpc.aio.AioRpcError) as raised:
                await stream.read()
            assert raised.value.code() is grpc.StatusCode.UNAVAILABLE
