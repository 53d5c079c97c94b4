"""F06: consumers that are frozen while the topics are lost, and published again, skip nothing of the new ones."""

import asyncio
import signal
from collections.abc import Awaitable, Callable

import pytest
from aiokafka.admin import AIOKafkaAdminClient

from deploy.local.stack import Stack
from services.chassis.topics import list_partitions
from tests.e2e.client import Api
from tests.e2e.world import World
from tests.eventually import eventually
from tests.fault.conftest import on_the_stack
from tests.fault.counting import record
from tests.fault.test_stack import all_ended, no_differences
from tests.fault.verifying import verified

FROZEN = ("reporting", "worker-1")
Step = Callable[[Stack], Awaitable[None]]


async def kill_broker(stack: Stack) -> None:
    await stack.kill("broker")


async def start_broker(stack: Stack) -> None:
    await stack.start("broker")


async def delete_topics(stack: Stack) -> None:
    names = sorted({partition.topic for partition in await list_partitions(stack.kafka_bootstrap)})
    admin = AIOKafkaAdminClient(bootstrap_servers=stack.kafka_bootstrap)
    await admin.start()
    try:
        await admin.delete_topics(names)
    finally:
        await admin.close()


async def republish(stack: Stack) -> None:
    await stack.republish()


@on_the_stack
@pytest.mark.parametrize(
    ("lose", "restore"), [(kill_broker, start_broker), (delete_topics, republish)], ids=["killed", "deleted"]
)
async def test_frozen_consumers_read_new_topics_from_their_beginning(
    own_stack: Stack, own_api: Api, own_world: World, lose: Step, restore: Step
) -> None:
    app = await own_world.app()
    await own_world.build(app, "1.0.0")
    workflow = await own_world.workflow(*[await own_world.test(app=app) for _ in range(3)])
    await own_world.run(workflow)
    for name in FROZEN:
        await own_stack.kill(name, signal.SIGSTOP)
    await lose(own_stack)
    started = await asyncio.gather(*(own_world.start(workflow) for _ in range(6)))
    await restore(own_stack)
    for execution in started[:2]:
        await own_world.ended(execution["id"])  # by the other worker
    for name in FROZEN:
        await own_stack.kill(name, signal.SIGCONT)
    runs = await all_ended(own_api, app)
    assert len(runs) == 3 * (1 + len(started))
    await eventually(lambda: no_differences(own_api, app, runs))
    record(
        "F06",
        f"runs while {' and '.join(FROZEN)} were frozen and the topics were lost: {lose.__name__.replace('_', ' ')}",
        tried=len(runs),
        survived=sum(run["status"] == "completed" for run in runs),
        differences_of_verify=await verified(own_stack),
    )
