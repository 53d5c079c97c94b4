"""Executors on a real MongoDB and a real broker, each test with its own catalog."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import protovalidate  # noqa: F401 (a service imports it for its first message: here within the deadline of a test's call)
import pytest
import pytest_asyncio
from mobiletest.executor.v1 import executions_pb2 as pb
from mobiletest.executor.v1 import executions_pb2_grpc, runs_pb2
from mobiletest.types.v1 import execution_pb2
from pymongo import MongoClient

from services.chassis.context import ALL_SCOPES, Caller, bind
from services.chassis.grpc_server import open_channel
from services.chassis.lifecycle import GrpcApp
from services.chassis.migrations import MIGRATIONS
from services.executor.app import start_app
from services.executor.ports.runs import Attempts
from services.executor.settings import Settings
from services.executor.storage.schema import ORG_LOCKS
from tests.callers import callers
from tests.eventually import eventually
from tests.fakes.executor import FakeAttempts
from tests.integration.executor.catalog_server import TOKEN, TOKEN_OF_GATEWAY, Shelf, serving

Run = Callable[..., AbstractAsyncContextManager[GrpcApp]]

TERMINAL = (
    execution_pb2.EXECUTION_STATUS_COMPLETED,
    execution_pb2.EXECUTION_STATUS_FAILED,
    execution_pb2.EXECUTION_STATUS_CANCELLED,
)


@pytest.fixture
async def shelf() -> AsyncIterator[Shelf]:
    async with serving(Shelf()) as served:
        yield served


@pytest.fixture(scope="session")
def shared_database(mongo_client: MongoClient[dict[str, Any]]) -> Iterator[str]:
    """One database for all tests of this process, because creating collections and indexes takes longer than a test."""
    name = f"test_{uuid4().hex}"
    yield name
    mongo_client.drop_database(name)


@pytest.fixture(scope="session")
def module_database(mongo_client: MongoClient[dict[str, Any]]) -> Iterator[str]:
    """Another one, because the executor of a module stays while tests beside it empty the shared database."""
    name = f"test_{uuid4().hex}"
    yield name
    mongo_client.drop_database(name)


def empty(mongo_client: MongoClient[dict[str, Any]], name: str) -> str:
    """The database, empty but for its schema."""
    database = mongo_client[name]
    for collection in database.list_collection_names():
        if collection not in (MIGRATIONS, ORG_LOCKS):
            database[collection].delete_many({})
    return name


@pytest.fixture
def mongo_database(mongo_client: MongoClient[dict[str, Any]], shared_database: str) -> str:
    """The shared database, empty but for its schema."""
    return empty(mongo_client, shared_database)


def make_settings(**changes: Any) -> Settings:
    """Of an executor that has its consumer group and folder for itself, unless changes say otherwise."""
    values: dict[str, Any] = {
        "service_token": TOKEN,
        "callers": f"{callers(TOKEN, 'operator', 'reporting')},{callers(TOKEN_OF_GATEWAY, 'gateway')}",
        "kafka_idempotence": False,
        "kafka_session_seconds": 1.0,
        "run_request_partitions": 4,
        "instance": f"worker-{uuid4()}",
        "shutdown_grace_seconds": 5.0,
        "poll_seconds": 0.25,
        "simulated_devices": True,
    }
    return Settings(**{**values, **changes})


def in_folder(folder: Path) -> dict[str, str]:
    """Settings of the places for files."""
    return {
        "object_store": (folder / "objects").as_uri(),
        "artifact_spool": str(folder / "spool"),
        "executor_files_folder": str(folder / "files"),
    }


@pytest.fixture
def settings(
    shelf: Shelf, mongo_uri: str, mongo_database: str, kafka_bootstrap: str, topic_suffix: str, tmp_path: Path
) -> Callable[..., Settings]:
    """Settings of an executor that shares database and consumer group only with others of the same test."""
    own = {
        "mongo_uri": mongo_uri,
        "executor_database": mongo_database,
        "kafka_bootstrap": kafka_bootstrap,
        "executor_group": f"workers-{topic_suffix}",
        "catalog_address": shelf.address,
        **in_folder(tmp_path),
    }
    return lambda **changes: make_settings(**{**own, **changes})


@dataclass
class Served:
    """An executor that the tests of a module share; each has its own organisation, and lets its runs end.

    `attempts` are reset before each test; of executors with simulated devices they are unused.
    """

    shelf: Shelf
    app: GrpcApp
    client: "Client"
    attempts: FakeAttempts


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def of_module(
    request: pytest.FixtureRequest,
    mongo_client: MongoClient[dict[str, Any]],
    mongo_uri: str,
    module_database: str,
    kafka_bootstrap: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Served]:
    """The module's `EXECUTOR` has settings; its `SCRIPTED` says whether attempts are scripted or simulated."""
    attempts, group = FakeAttempts(), f"workers-{uuid4().hex[:12]}"
    async with serving(Shelf()) as shelf:
        settings = make_settings(
            mongo_uri=mongo_uri,
            executor_database=empty(mongo_client, module_database),
            kafka_bootstrap=kafka_bootstrap,
            executor_group=group,
            catalog_address=shelf.address,
            **in_folder(tmp_path_factory.mktemp("executor")),
            **request.module.EXECUTOR,
        )
        async with (
            start_app(settings, attempts=attempts if request.module.SCRIPTED else None) as app,
            client_of(app.grpc_address) as client,
        ):
            yield Served(shelf, app, client, attempts)


@pytest.fixture
def served(of_module: Served) -> Iterator[Served]:
    of_module.attempts.reset()
    yield of_module
    of_module.attempts.reset()


@pytest.fixture
def executor(settings: Callable[..., Settings]) -> Run:
    """Runs an executor in this process: `async with executor(executor_role="api") as app`."""

    @asynccontextmanager
    async def run(attempts: Attempts | None = None, **changes: Any) -> AsyncIterator[GrpcApp]:
        async with start_app(settings(**changes), attempts=attempts) as app:
            yield app

    return run


@pytest.fixture(autouse=True)
def caller() -> Iterator[Caller]:
    """Every test has its own organisation."""
    with bind(Caller(org_id=str(uuid4()), scopes=ALL_SCOPES)) as bound:
        yield bound


@dataclass
class Client:
    """A gRPC client with the operations that tests need."""

    stub: Any

    async def start(self, workflow_id: str, **fields: Any) -> str:
        """Start an execution; returns its id."""
        answer: pb.ExecutionStart = await self.stub.StartWorkflow(
            pb.StartWorkflowRequest(workflow_id=workflow_id, **fields)
        )
        assert answer.id == answer.task_id
        return answer.id

    async def get(self, execution_id: str, **fields: Any) -> pb.Execution:
        execution: pb.Execution = await self.stub.GetExecution(
            pb.GetExecutionRequest(execution_id=execution_id, **fields), timeout=70
        )
        return execution

    async def ended(self, execution_id: str, *, within: float = 60.0) -> pb.Execution:
        async def probe() -> pb.Execution | None:
            execution = await self.get(execution_id)
            return execution if execution.status in TERMINAL else None

        last: pb.Execution | None = await eventually(probe, within=within)
        assert last is not None
        return last

    async def running(self, execution_id: str) -> None:
        """Wait until a worker has a run of the execution."""

        async def probe() -> bool:
            return bool((await self.get(execution_id)).counts.running)

        _: bool = await eventually(probe)

    async def runs(self, execution_id: str) -> list[runs_pb2.Run]:
        """All runs, each with its steps."""
        listed = await self.stub.ListRuns(pb.ListRunsRequest(execution_id=execution_id, page_size=500))
        return [
            await self.stub.GetRun(pb.GetRunRequest(execution_id=execution_id, run_id=run.id)) for run in listed.items
        ]


@asynccontextmanager
async def client_of(address: str) -> AsyncIterator[Client]:
    async with open_channel(address, TOKEN, timeout=20) as to:
        yield Client(executions_pb2_grpc.ExecutionsStub(to))  # type: ignore[no-untyped-call]


@pytest.fixture
def connect() -> Callable[[str], AbstractAsyncContextManager[Client]]:
    """`async with connect(app.grpc_address) as client`."""
    return client_of
