"""Change notifications from a change stream of MongoDB."""

import asyncio

import pytest

from services.chassis.errors import Unavailable
from services.executor.storage.change_notifier import ChangeNotifier
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import start

FOREVER = 3600.0


@pytest.mark.parametrize("waits_first", [True, False])
async def test_a_waiter_is_notified_of_a_change_after_subscribing(
    world: World, notifications: ChangeNotifier, waits_first: bool
) -> None:
    execution = await start(world)
    with notifications.subscribe(execution.id) as subscription:
        waiting = asyncio.create_task(subscription.wait(FOREVER))
        if waits_first:
            await asyncio.sleep(0)
        await world.executions.cancel(execution.id)
        await waiting


async def test_waiters_are_released_on_shutdown(notifications: ChangeNotifier) -> None:
    with notifications.subscribe("an id") as early:
        waiting = asyncio.create_task(early.wait(FOREVER))
        await asyncio.sleep(0)
        notifications.stop()
        with pytest.raises(Unavailable):
            await waiting
    with notifications.subscribe("an id") as late, pytest.raises(Unavailable):
        await late.wait(FOREVER)
