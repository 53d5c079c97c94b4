"""Executors on a real MongoDB and a real broker, each test with its own catalog."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from mobiletest.executor.v1 import executions_pb2 as pb
from mobiletest.executor.v1 import executions_pb2_grpc, runs_pb2
from mobiletest.types.v1 import execution_pb2
from pymongo import MongoClient

from services.chassis.context import ALL_SCOPES, Caller, bind
from services.chassis.grpc_server import open_channel
from services.chassis.migrations import MIGRATIONS
from services.executor.app import App, start_app
from services.executor.ports.runs import Attempts
from services.executor.settings import Settings
from services.executor.storage.schema import ORG_LOCKS
from tests.callers import callers
from tests.eventually import eventually
from tests.integration.executor.catalog_server import TOKEN, TOKEN_OF_GATEWAY, Shelf, serving

Run = Callable[..., AbstractAsyncContextManager[App]]

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


@pytest.fixture
def mongo_database(mongo_client: MongoClient[dict[str, Any]], shared_database: str) -> str:
    """The shared database, empty but for its schema."""
    database = mongo_client[shared_database]
    for name in database.list_collection_names():
        if name not in (MIGRATIONS, ORG_LOCKS):
            database[name].delete_many({})
    return shared_database


@pytest.fixture
def settings(
    shelf: Shelf, mongo_uri: str, mongo_database: str, kafka_bootstrap: str, topic_suffix: str, tmp_path: Path
) -> Callable[..., Settings]:
    """Settings of an executor that shares database and consumer group only with others of the same test."""

    def make(**changes: Any) -> Settings:
        values: dict[str, Any] = {
            "service_token": TOKEN,
            "callers": f"{callers(TOKEN, 'operator', 'reporting')},{callers(TOKEN_OF_GATEWAY, 'gateway')}",
            "mongo_uri": mongo_uri,
            "executor_database": mongo_database,
            "kafka_bootstrap": kafka_bootstrap,
            "kafka_idempotence": False,
            "kafka_session_seconds": 1.0,
            "run_request_partitions": 4,
            "executor_group": f"workers-{topic_suffix}",
            "instance": f"worker-{uuid4()}",
            "catalog_address": shelf.address,
            "object_store": (tmp_path / "objects").as_uri(),
            "artifact_spool": str(tmp_path / "spool"),
            "executor_files_folder": str(tmp_path / "files"),
            "shutdown_grace_seconds": 5.0,
            "poll_seconds": 0.25,
        }
        return Settings(**{**values, **changes})

    return make


@pytest.fixture
def executor(settings: Callable[..., Settings]) -> Run:
    """Runs an executor in this process: `async with executor(executor_role="api") as app`."""

    @asynccontextmanager
    async def run(attempts: Attempts | None = None, **changes: Any) -> AsyncIterator[App]:
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
        found: pb.Execution = await self.stub.GetExecution(
            pb.GetExecutionRequest(execution_id=execution_id, **fields), timeout=70
        )
        return found

    async def ended(self, execution_id: str, *, within: float = 40.0) -> pb.Execution:
        async def probe() -> pb.Execution | None:
            execution = await self.get(execution_id)
            return execution if execution.status in TERMINAL else None

        found: pb.Execution | None = await eventually(probe, within=within)
        assert found is not None
        return found

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
