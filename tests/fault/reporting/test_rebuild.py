"""verify and rebuild as operators call them, on real processes, which are killed while runs end."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from random import Random
from typing import Any

import grpc
import pytest
from mobiletest.reporting.v1 import operations_pb2, operations_pb2_grpc
from pymongo import MongoClient

from deploy.local.layout import python_path
from deploy.local.stack import Stack, run_stack
from services.chassis import grpc_server
from tests.e2e.client import Api
from tests.e2e.world import FAILING, World
from tests.eventually import eventually
from tests.fault import recount
from tests.fault.counting import record

KILLS = int(os.environ.get("KILLS", "3"))
DROP_SECONDS = "3"
UNDER_WAY = "OPERATION_UNDER_WAY"
Line = dict[str, Any]


@pytest.fixture
async def stack(tmp_path: Path) -> AsyncIterator[Stack]:
    async with run_stack(tmp_path / "state", workers=1, extra_env={"MOBILETEST_INVALID_SHARE": "1"}) as stack:
        yield stack


async def start_command(stack: Stack, *arguments: str) -> Process:
    """The command, with the environment of the reporting service."""
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": python_path(),
        "MOBILETEST_SERVICE_TOKEN": stack.tokens["reporting"],
        "MOBILETEST_MONGO_URI": stack.mongo_uri,
        "MOBILETEST_KAFKA_BOOTSTRAP": stack.kafka_bootstrap,
        "MOBILETEST_CATALOG_ADDRESS": stack.grpc["catalog"],
        "MOBILETEST_EXECUTOR_ADDRESS": stack.grpc["executor"],
        "MOBILETEST_GENERATION_DROP_SECONDS": DROP_SECONDS,
    }
    command = (sys.executable, "-m", "services.reporting", *arguments, "--json")
    return await asyncio.create_subprocess_exec(*command, env=environment, stdout=PIPE)


async def lines_of(process: Process) -> AsyncIterator[Line]:
    assert process.stdout is not None
    async for line in process.stdout:
        yield json.loads(line)


async def run_command(stack: Stack, *arguments: str) -> tuple[int, list[Line]]:
    """Call it until the lease of a killed operation has expired; exit code and lines."""

    async def probe() -> tuple[int, list[Line]] | None:
        process = await start_command(stack, *arguments)
        lines = [line async for line in lines_of(process)]
        code = await process.wait()
        return None if UNDER_WAY in str(lines[-1].get("error")) else (code, lines)

    found = await eventually(probe, within=120, every=1)
    assert found is not None
    return found


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


ENDED = {"status": {"$in": ["completed", "failed", "cancelled"]}}


def serving(client: MongoClient[Any], name: str) -> Any:
    """A collection of the generation that serves."""
    control = client["reporting"]["_generations"].find_one({"_id": "read_models"})
    suffix = f".g{control['serving']}" if control and control["serving"] else ""
    return client["reporting"][f"{name}{suffix}"]


async def all_folded(client: MongoClient[Any]) -> None:
    """Wait until reporting knows of every run that has ended."""

    async def probe() -> bool:
        ended = client["executor"]["runs"].count_documents(ENDED)
        return bool(serving(client, "runs").count_documents(ENDED) == ended)

    await eventually(probe, within=60)


def differences(lines: list[Line]) -> list[Line]:
    return [line["difference"] for line in lines if "difference" in line]


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


@pytest.mark.timeout(900)
async def test_killed_jobs_are_resumed_correctly(stack: Stack) -> None:
    """A rebuild is killed in each phase under load and resumed; verify then finds injected differences only."""
    chance = Random(20261121)
    async with Api(stack.url, stack.api_key) as api:
        world = World(api)
        app, _, test, _ = await world.passing_app()
        failing = await world.test(FAILING)
        await world.attach(app, failing)
        workflow = await world.workflow(test, failing)
        for _ in range(3):
            await world.run(workflow)
        with MongoClient[Any](stack.mongo_uri) as client:
            await all_folded(client)
            planted = spoil(client)
            code, lines = await run_command(stack, "verify")
            assert planted <= {(found["collection"], found["id"]) for found in differences(lines)}
            assert code == 1

            enough = asyncio.Event()
            load = asyncio.create_task(under_load(world, workflow, enough))
            kills = 0
            for phase in ("replaying", "comparing", "swapping")[:KILLS]:
                await kill_in_phase(stack, phase, chance.randint(1, 3))
                kills += 1
            code, lines = await run_command(stack, "rebuild")
            assert code == 0, lines[-1]
            enough.set()
            started = await load
            await all_folded(client)

            code, lines = await run_command(stack, "verify")
            assert (code, differences(lines), lines[-1]["result"]["differences"]) == (0, [], 0)
            assert await recount.differences(api, app, await recount.runs_of(api, app)) == []
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


async def test_a_failing_command_says_why(stack: Stack) -> None:
    await stack.stop("executor")
    process = await start_command(stack, "verify")
    async for line in lines_of(process):
        if line.get("progress", {}).get("place") == "executions":
            process.terminate()
            break
    rest = [line async for line in lines_of(process)]
    assert await process.wait() == 2
    assert "interrupted" in rest[-1]["error"]


async def test_verify_and_rebuild_over_grpc(stack: Stack) -> None:
    """Ending the call interrupts the operation, calling again resumes it, and two do not run at once."""
    descriptor = operations_pb2.DESCRIPTOR.services_by_name["Operations"]
    async with (
        Api(stack.url, stack.api_key) as api,
        grpc_server.open_channel(stack.grpc["reporting"], stack.grpc_token, services=[descriptor]) as channel,
    ):
        world = World(api)
        _, build, _, workflow = await world.passing_app()
        await world.run(workflow)
        await world.reported(build, 1)
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

        steps = await eventually(gone_on, within=60)
        assert steps
        assert steps[-1].phase == operations_pb2.OPERATION_PHASE_DONE
        assert (steps[-1].differences, [found for step in steps for found in step.found]) == (0, [])
