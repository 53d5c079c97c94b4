"""An embedded mongod: a replica set of one node, which transactions and change streams need."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import stamina
from pymongo import AsyncMongoClient
from pymongo.errors import AutoReconnect, OperationFailure, PyMongoError, ServerSelectionTimeoutError

from deploy.local import binaries
from deploy.local.child import Child, ChildSpec
from deploy.local.ports import LOOPBACK, Ports, accepts

REPLICA_SET = "rs0"
# The open transaction of a killed process keeps its locks for this long (by default 60 s).
TRANSACTION_LIFETIME = "transactionLifetimeLimitSeconds=10"
_ALREADY_INITIALIZED = 23
_NOT_YET_INITIALIZED = 94
_REMOVED_FROM_SET = 93  # InvalidReplicaSetConfig: the node does not find its own address in the stored one


class Mongod:
    """A mongod with its data in a folder, which keeps its port over stop and start."""

    def __init__(self, folder: Path, port: int, log: Path) -> None:
        self.port = port
        self.binary = binaries.mongod()
        self._folder = folder
        self.child = Child(ChildSpec("mongod", self._argv(), log, grace=20.0))

    @property
    def origin(self) -> str:
        return f"{self.binary.path.name} from {self.binary.origin}, port {self.port}"

    @property
    def uri(self) -> str:
        return f"mongodb://{LOOPBACK}:{self.port}/?replicaSet={REPLICA_SET}"

    async def start(self) -> None:
        """Start it and wait until it is primary."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self.child.start()
        await self.child.ready(lambda: accepts(self.port), within=60.0)
        async with direct(self.port) as client:
            await ensure_replica_set(client, f"{LOOPBACK}:{self.port}")
            await self.child.ready(lambda: is_primary(client), within=60.0)

    async def stop(self) -> None:
        await self.child.stop()

    def _argv(self) -> list[str]:
        options = {
            "--dbpath": str(self._folder),
            "--bind_ip": LOOPBACK,
            "--port": str(self.port),
            "--replSet": REPLICA_SET,
            "--oplogSize": "256",
            "--wiredTigerCacheSizeGB": "0.25",
        }
        # A single node cannot hand over to a secondary, so its shutdown need not wait for that.
        parameters = [
            "diagnosticDataCollectionEnabled=false",
            "shutdownTimeoutMillisForSignaledShutdown=0",
            TRANSACTION_LIFETIME,
        ]
        argv = [str(self.binary.path), "--quiet", "--nounixsocket"]
        argv += [word for option in options.items() for word in option]
        return argv + [word for parameter in parameters for word in ("--setParameter", parameter)]


@asynccontextmanager
async def mongod(folder: Path) -> AsyncIterator[Mongod]:
    """A running mongod with its data in `folder` and its log beside it; stopped at the end."""
    with Ports() as ports:
        server = Mongod(folder, ports.take(), folder.with_suffix(".log"))
        try:
            await server.start()
            yield server
        finally:
            await server.stop()


@asynccontextmanager
async def direct(port: int, host: str = LOOPBACK) -> AsyncIterator[AsyncMongoClient[dict[str, Any]]]:
    """A client of this node, also when it is not primary."""
    client: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(
        host, port, directConnection=True, serverSelectionTimeoutMS=5000
    )
    try:
        yield client
    finally:
        await client.close()


async def ensure_replica_set(client: AsyncMongoClient[dict[str, Any]], address: str) -> None:
    """Make the node a replica set of one at `address`, also when its data has another address."""
    async for attempt in stamina.retry_context(
        on=_is_loading_configuration, attempts=None, timeout=10.0, wait_initial=0.02, wait_max=0.5, wait_jitter=0
    ):
        with attempt:
            await _configure(client, address)


def _is_loading_configuration(error: Exception) -> bool:
    """It does so after it accepts connections, and closes them when it finds that its address has changed."""
    if isinstance(error, AutoReconnect):
        return not isinstance(error, ServerSelectionTimeoutError)
    return getattr(error, "code", None) == _ALREADY_INITIALIZED


async def _configure(client: AsyncMongoClient[dict[str, Any]], address: str) -> None:
    try:
        await client.admin.command("replSetGetStatus")
    except OperationFailure as error:
        if error.code == _NOT_YET_INITIALIZED:
            await client.admin.command("replSetInitiate", _configuration(address, version=1))
        elif error.code == _REMOVED_FROM_SET:
            await _move(client, address)
        else:
            raise


async def _move(client: AsyncMongoClient[dict[str, Any]], address: str) -> None:
    stored = await client.local["system.replset"].find_one()
    version = stored["version"] + 1 if stored else 1
    await client.admin.command("replSetReconfig", _configuration(address, version=version), force=True)


async def is_primary(client: AsyncMongoClient[dict[str, Any]]) -> bool:
    """Whether the node is primary."""
    try:
        return bool((await client.admin.command("hello")).get("isWritablePrimary"))
    except PyMongoError:
        return False


def _configuration(address: str, *, version: int) -> dict[str, object]:
    return {"_id": REPLICA_SET, "version": version, "members": [{"_id": 0, "host": address}]}
