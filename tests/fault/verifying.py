"""What the operator's commands of reporting say after a fault."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from typing import Any

from pymongo import MongoClient

from deploy.local.layout import python_path
from deploy.local.stack import Stack
from services.reporting.storage.generations import GENERATIONS
from tests.eventually import eventually

DROP_SECONDS = "3"
UNDER_WAY = "OPERATION_UNDER_WAY"
Line = dict[str, Any]


async def verified(stack: Stack) -> int:
    """How many differences to the history of executor and catalog it finds; an AssertionError when there are any."""
    code, lines = await run_command(stack, "verify")
    assert (code, differences(lines)) == (0, []), lines[-1]
    return int(lines[-1]["result"]["differences"])


def serving_generation(client: MongoClient[Any]) -> int:
    """The generation of the read models that answers requests."""
    control = client["reporting"][GENERATIONS].find_one({"_id": "read_models"})
    return int(control["serving"]) if control else 0


def differences(lines: list[Line]) -> list[Line]:
    return [line["difference"] for line in lines if "difference" in line]


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

    result = await eventually(probe, within=120, every=1)
    assert result is not None
    return result
