"""The parts as containers. Image names come from the environment, so that locally built ones can be used."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from pymongo.errors import PyMongoError

from deploy.local.mongod import REPLICA_SET, TRANSACTION_LIFETIME, direct, ensure_replica_set, is_primary
from tests.eventually import eventually

_MONGO_PORT = 27017
_LOG_LINES = 100
# A JVM needs more than half a minute for its start beside other work on two cores.
_START_SECONDS = 120


@asynccontextmanager
async def mongo_container() -> AsyncIterator[str]:
    """The URI of a one-node replica set in a container; its own class, because testcontainers' is no replica set."""
    async with _run_container(_mongo) as container:
        host, port = container.get_container_host_ip(), int(container.get_exposed_port(_MONGO_PORT))
        async with direct(port, host) as client:
            await eventually(lambda: _answers(client))
            await ensure_replica_set(client, f"localhost:{_MONGO_PORT}")
            await eventually(lambda: is_primary(client))
        # The set knows its member by the address inside the container, so clients must not follow it.
        yield f"mongodb://{host}:{port}/?directConnection=true"


@asynccontextmanager
async def kafka_container() -> AsyncIterator[str]:
    """The bootstrap address of a KRaft broker in a container."""
    async with _run_container(_kafka, timeout=_START_SECONDS) as container:
        yield container.get_bootstrap_server()


def _mongo() -> Any:
    from testcontainers.core.container import DockerContainer

    image = os.environ.get("MOBILETEST_MONGO_IMAGE", "mongo:8.0")
    container = DockerContainer(image).with_command(
        f"--replSet {REPLICA_SET} --bind_ip_all --setParameter {TRANSACTION_LIFETIME}"
    )
    return container.with_exposed_ports(_MONGO_PORT)


def _kafka() -> Any:
    from testcontainers.community.kafka import KafkaContainer

    container = KafkaContainer(os.environ.get("MOBILETEST_KAFKA_IMAGE", "confluentinc/cp-kafka:7.9.0")).with_kraft()
    # Members in tests may be silent for a second or two before they are dead; Kafka's own least is six.
    return container.with_env("KAFKA_GROUP_MIN_SESSION_TIMEOUT_MS", "500")


@asynccontextmanager
async def _run_container(make: Callable[[], Any], **options: Any) -> AsyncIterator[Any]:
    container = await asyncio.to_thread(make)
    try:
        await asyncio.to_thread(container.start, **options)
        yield container
    finally:
        if exit_report := await asyncio.to_thread(describe_exit, container):
            print(exit_report, file=sys.__stderr__, flush=True)
        await asyncio.to_thread(container.stop)


def describe_exit(container: Any) -> str:
    """Empty for a container that runs or was never made; otherwise how it ended and the last lines of its log, because
    the tests show only that nothing answered."""
    docker_container = container.get_wrapped_container()
    if docker_container is None:
        return ""
    docker_container.reload()
    if docker_container.status == "running":
        return ""
    state, log = docker_container.attrs["State"], docker_container.logs(tail=_LOG_LINES).decode(errors="replace")
    return f"{container.image} ended before the tests, {state}:\n{log}"


async def _answers(client: Any) -> bool:
    try:
        await client.admin.command("ping")
    except PyMongoError:
        return False
    return True
