"""The catalog as a service in this process and its storage alone, each one for the whole run: tests have organisations
of their own.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from mobiletest.catalog.v1 import (
    api_keys_pb2,
    api_keys_pb2_grpc,
    apps_pb2,
    apps_pb2_grpc,
    builds_pb2,
    builds_pb2_grpc,
    failures_pb2,
    failures_pb2_grpc,
    limits_pb2,
    limits_pb2_grpc,
    resolution_pb2,
    resolution_pb2_grpc,
    sessions_pb2,
    sessions_pb2_grpc,
    tests_pb2,
    tests_pb2_grpc,
    workflows_pb2,
    workflows_pb2_grpc,
)
from pymongo import MongoClient

from services.catalog.app import start_app
from services.catalog.flow_reader import ChildFlowReader
from services.catalog.settings import Settings
from services.catalog.spool import PORTION_BYTES
from services.chassis import context, grpc_server
from services.chassis.context import ALL_SCOPES, Caller
from tests.callers import ALL, callers
from tests.contract.catalog.conftest import database as storage  # noqa: F401 - a fixture

TOKEN = "t" * 20
TOKEN_OF_GATEWAY = "g" * 20
_SERVICES: dict[str, tuple[Any, Any, str]] = {
    "apps": (apps_pb2, apps_pb2_grpc, "Apps"),
    "builds": (builds_pb2, builds_pb2_grpc, "Builds"),
    "tests": (tests_pb2, tests_pb2_grpc, "Tests"),
    "failures": (failures_pb2, failures_pb2_grpc, "FailureTriages"),
    "workflows": (workflows_pb2, workflows_pb2_grpc, "Workflows"),
    "resolution": (resolution_pb2, resolution_pb2_grpc, "Resolution"),
    "keys": (api_keys_pb2, api_keys_pb2_grpc, "ApiKeys"),
    "sessions": (sessions_pb2, sessions_pb2_grpc, "Sessions"),
    "limits": (limits_pb2, limits_pb2_grpc, "Limits"),
}


@dataclass(frozen=True)
class Service:
    """The running catalog: its stubs, and where it keeps things. Calls are made as the caller of the test."""

    settings: Settings
    address: str
    objects: Path
    spool: Path
    apps: Any
    builds: Any
    tests: Any
    failures: Any
    workflows: Any
    resolution: Any
    keys: Any
    sessions: Any
    limits: Any

    def files(self) -> list[str]:
        """The objects that are stored for the caller's organisation, by their SHA-256."""
        folder = self.objects / context.current().org_id
        return sorted(path.name for path in folder.rglob("*") if path.is_file())


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def service(
    mongo_uri: str,
    mongo_client: MongoClient[dict[str, Any]],
    kafka_bootstrap: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Service]:
    """The catalog on a database of its own."""
    objects, spool = tmp_path_factory.mktemp("objects"), tmp_path_factory.mktemp("spool")
    settings = Settings(
        callers=f"{callers(TOKEN, *ALL)},{callers(TOKEN_OF_GATEWAY, 'gateway')}",
        mongo_uri=mongo_uri,
        mongo_database=f"test_{uuid4().hex}",
        kafka_bootstrap=kafka_bootstrap,
        kafka_idempotence=False,
        object_store=f"file://{objects}",
        spool_folder=spool,
        artifact_max_bytes=8 * 1024 * 1024,
        spool_bytes=32 * PORTION_BYTES,
        shutdown_grace_seconds=1,
        simulated_devices=True,
    )
    async with AsyncExitStack() as stack:
        stack.callback(mongo_client.drop_database, settings.mongo_database)
        app = await stack.enter_async_context(start_app(settings))
        descriptors = [file.DESCRIPTOR.services_by_name[name] for file, _, name in _SERVICES.values()]
        channel = await stack.enter_async_context(
            grpc_server.open_channel(app.grpc_address, TOKEN, services=descriptors)
        )
        await _start_children()
        stubs = {field: getattr(stub, f"{name}Stub")(channel) for field, (_, stub, name) in _SERVICES.items()}
        yield Service(settings, app.grpc_address, objects, spool, **stubs)


async def _start_children() -> None:
    """Start the process that forks the readers of flows: it loads modules for longer than the first call may take."""
    reader = ChildFlowReader()
    with foreign():
        await reader.read(["Tap x"])
    await reader.close()


@pytest.fixture(autouse=True)
def caller() -> Iterator[Caller]:
    """A caller of a new organisation, by an API key."""
    with context.bind(Caller(org_id=str(uuid4()), subject=str(uuid4()), scopes=ALL_SCOPES)) as caller:
        yield caller


@pytest.fixture
def operator(caller: Caller) -> Iterator[Caller]:
    """The caller is an operator of the organisation, who has no API key."""
    with context.bind(replace(caller, subject=None, scopes=ALL_SCOPES)) as operator:
        yield operator


def foreign() -> Any:
    """A block with a caller of another organisation."""
    return context.bind(Caller(org_id=str(uuid4()), scopes=ALL_SCOPES))
