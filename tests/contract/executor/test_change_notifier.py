"""Change notifications: the fake, and a change stream of MongoDB."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic

import pytest

from services.chassis.errors import Unavailable
from services.executor.model.executions import BuildConfig, Execution, ExecutionKind, StartSubject
from services.executor.model.run_config import RunConfig
from services.executor.ports.executions import ChangeNotifications
from services.executor.storage.change_notifier import ChangeNotifier
from services.executor.usecases.starts import ExecutionStarter, StartRequest
from tests.contract.executor.conftest import MemoryWorld, MongoWorld, World
from tests.fakes.executor import FakeCatalog, plan
from tests.fakes.executor_executions import FakeChangeNotifications

LONG = 20.0


@asynccontextmanager
async def notifications_of(world: World) -> AsyncIterator[ChangeNotifications]:
    if isinstance(world, MemoryWorld):
        yield FakeChangeNotifications(world.memory)
        return
    assert isinstance(world, MongoWorld)
    notifications = ChangeNotifier(world.mongo)
    listening = asyncio.create_task(notifications.run())
    yield notifications
    while not listening.done():  # PyMongo Async forgets a cancellation that comes while a stream is being opened
        listening.cancel()
        await asyncio.wait({listening}, timeout=1)


async def started(world: World) -> Execution:
    catalog = FakeCatalog()
    wanted = StartRequest(
        subject=StartSubject(ExecutionKind.WORKFLOW, catalog.workflow(plan())),
        run_config=RunConfig(),
        build_config=BuildConfig(),
    )
    return await ExecutionStarter(catalog, world.executions).start(wanted)


async def test_a_waiter_is_notified_when_its_execution_changes(world: World) -> None:
    execution = await started(world)
    async with notifications_of(world) as notifications:
        with notifications.subscribe(execution.id) as subscription:
            since = monotonic()
            waiting = asyncio.create_task(subscription.wait(LONG))
            await world.executions.cancel(execution.id)
            await waiting
            assert monotonic() - since < LONG


async def test_a_change_after_subscribing_is_not_missed(world: World) -> None:
    execution = await started(world)
    async with notifications_of(world) as notifications:
        with notifications.subscribe(execution.id) as subscription:
            since = monotonic()
            await world.executions.cancel(execution.id)
            await subscription.wait(LONG)
            assert monotonic() - since < LONG


async def test_a_wait_times_out(world: World) -> None:
    execution = await started(world)
    async with notifications_of(world) as notifications:
        with notifications.subscribe(execution.id) as subscription:
            await subscription.wait(0.01)


async def test_waiters_are_released_on_shutdown(world: World) -> None:
    async with notifications_of(world) as notifications:
        if not isinstance(notifications, ChangeNotifier):
            return
        with notifications.subscribe("an id") as early:
            waiting = asyncio.create_task(early.wait(LONG))
            notifications.stop()
            with pytest.raises(Unavailable):
                await waiting
        with notifications.subscribe("an id") as late, pytest.raises(Unavailable):
            await late.wait(LONG)
