"""verify and rebuild as operators call them, on real processes, which are killed while runs end."""

import asyncio
import os
from collections.abc import Callable
from random import Random
from typing import Any

import grpc
import pytest
from mobiletest.reporting.v1 import operations_pb2, operations_pb2_grpc
from pymongo import MongoClient

from deploy.local.stack import Stack
from services.chassis import grpc_server
from services.reporting.storage.generations import collection_name
from tests.e2e.client import Api
from tests.e2e.world import FAILING, World
from tests.eventually import eventually
from tests.fault import recount
from tests.fault.conftest import on_the_stack
from tests.fault.counting import record
from tests.fault.verifying import Line, differences, lines_of, run_command, serving_generation, start_command

KILLS = int(os.environ.get("KILLS", "3"))


async def kill_command(stack: Stack, operation: str, when: Callable[[Line], bool]) -> bool:
    """Call it and kill it with SIGKILL at the first line that is so; False when there was none."""
    process = await start_command(stack, operation)
    async for line in lines_of(process):
        if when(line):
            process.kill()
            await process.wait()
            return True
    await process.wait()
    return False


def serving(client: MongoClient[Any], name: str) -> Any:
    """A collection of the generation that serves."""
    return client["reporting"][collection_name(name, serving_generation(client))]


ENDED = {"status": {"$in": ["completed", "failed", "cancelled"]}}


async def all_folded(client: MongoClient[Any]) -> None:
    """Wait until reporting knows of every run that has ended."""

    async def probe() -> bool:
        ended = client["executor"]["runs"].count_documents(ENDED)
        return bool(serving(client, "runs").count_documents(ENDED) == ended)

    await eventually(probe)


def spoil(client: MongoClient[Any]) -> set[tuple[str, str]]:
    """Change a counter, take a cell away; gives (collection, id) of each, in the generation that serves."""
    counters, cells = serving(client, "counters"), serving(client, "cells")
    counter = counters.find_one_and_update({"runs": {"$gt": 0}, "passed": {"$gt": 0}}, {"$inc": {"passed": 7}})
    cell = cells.find_one_and_delete({})
    assert counter
    assert cell
    return {("counters", counter["_id"]), ("cells", cell["_id"])}


async def under_load(world: World, workflow: Any, until: asyncio.Event) -> list[str]:
    """Start executions until `stop` is set; their ids."""
    started: list[str] = []
    while not until.is_set() or not started:
        started.append((await world.run(workflow))["id"])
    return started


async def kill_in_phase(stack: Stack, phase: str, after: int) -> None:
    """Kill a rebuild at the line of the phase with this number, counted over all calls that it takes."""

    def late_enough(line: Line) -> bool:
        nonlocal after
        after -= line.get("progress", {}).get("phase") == phase
        return after <= 0

    async def is_killed() -> bool:
        return await kill_command(stack, "rebuild", late_enough)

    await eventually(is_killed, within=120, every=1)


@on_the_stack
@pytest.mark.timeout(1800)
async def test_killed_jobs_are_resumed_correctly(own_stack: Stack, own_api: Api, own_world: World) -> None:
    """A rebuild is killed in each phase under load and resumed; verify then finds injected differences only."""
    chance = Random(20261121)
    app, _, test, _ = await own_world.passing_app()
    failing = await own_world.test(FAILING)
    await own_world.attach(app, failing)
    workflow = await own_world.workflow(test, failing)
    for _ in range(3):
        await own_world.run(workflow)
    with MongoClient[Any](own_stack.mongo_uri) as client:
        await all_folded(client)
        planted = spoil(client)
        code, lines = await run_command(own_stack, "verify")
        assert planted <= {(difference["collection"], difference["id"]) for difference in differences(lines)}
        assert code == 1

        enough = asyncio.Event()
        load = asyncio.create_task(under_load(own_world, workflow, enough))
        kills = 0
        for phase in ("replaying", "comparing", "swapping")[:KILLS]:
            await kill_in_phase(own_stack, phase, chance.randint(1, 3))
            kills += 1
        code, lines = await run_command(own_stack, "rebuild")
        assert code == 0, lines[-1]
        enough.set()
        started = await load
        await all_folded(client)

        code, lines = await run_command(own_stack, "verify")
        assert (code, differences(lines), lines[-1]["result"]["differences"]) == (0, [], 0)
        assert await recount.differences(own_api, app, await recount.runs_of(own_api, app)) == []
        names = {name for name in client["reporting"].list_collection_names() if not name.startswith("_")}
        assert len({name.rpartition(".g")[2] for name in names}) == 1
    record(
        "C4",
        "rebuilds that were killed with SIGKILL, one in each phase, under load",
        tried=kills,
        survived=kills,
        executions=len(started) + 3,
        differences=0,
    )


@on_the_stack
async def test_a_failing_command_says_why(own_stack: Stack) -> None:
    await own_stack.stop("executor")
    process = await start_command(own_stack, "verify")
    async for line in lines_of(process):
        if line.get("progress", {}).get("place") == "executions":
            process.terminate()
            break
    rest = [line async for line in lines_of(process)]
    assert await process.wait() == 2
    assert "interrupted" in rest[-1]["error"]
    await own_stack.start("executor")


@on_the_stack
async def test_verify_and_rebuild_over_grpc(own_stack: Stack, own_world: World) -> None:
    """Ending the call interrupts the operation, calling again resumes it, and two do not run at once."""
    descriptor = operations_pb2.DESCRIPTOR.services_by_name["Operations"]
    _, build, _, workflow = await own_world.passing_app()
    await own_world.run(workflow)
    await own_world.reported(build, 1)
    address, token = own_stack.grpc["reporting"], own_stack.grpc_token
    async with grpc_server.open_channel(address, token, services=[descriptor]) as channel:
        stub: Any = operations_pb2_grpc.OperationsStub(channel)  # type: ignore[no-untyped-call]
        first = stub.Verify(operations_pb2.VerifyRequest())
        assert (await first.read()).phase == operations_pb2.OPERATION_PHASE_REPLAYING
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await stub.Rebuild(operations_pb2.RebuildRequest()).read()
        assert refused.value.code() is grpc.StatusCode.ABORTED
        first.cancel()

        async def gone_on() -> list[Any] | None:
            try:
                return [progress async for progress in stub.Verify(operations_pb2.VerifyRequest())]
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.ABORTED:  # the cancelled one is about to end
                    raise
                return None

        steps = await eventually(gone_on)
        assert steps
        assert steps[-1].phase == operations_pb2.OPERATION_PHASE_DONE
        assert (steps[-1].differences, [difference for step in steps for difference in step.found]) == (0, [])
