"""The parts that tests run against, a MongoDB replica set and a Kafka broker, from one of three sources.

`MOBILETEST_TEST_SOURCE` is `given` (MOBILETEST_MONGO_URI, MOBILETEST_KAFKA_BOOTSTRAP), `containers` or `embedded`;
unset, an address that is given is used and what is not given is embedded. Each part starts when first asked for.
"""

import os
import shutil
import tempfile
from asyncio import Task, create_task, to_thread
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pymongo import MongoClient

from deploy.local import binaries
from deploy.local.broker import broker
from deploy.local.mongod import mongod
from deploy.local.stack import Stack, run_stack
from tests.containers import kafka_container, mongo_container
from tests.query_plans import Client, profile

# A busy machine would get apps without their statistics.
PATIENT = {"MOBILETEST_STATS_TIMEOUT_SECONDS": "5"}
ADDRESSES = {"mongo": "MOBILETEST_MONGO_URI", "kafka": "MOBILETEST_KAFKA_BOOTSTRAP"}
_FOLDER_PREFIX = "mobiletest-test-"
_MEMORY = Path("/dev/shm")
_ROOM_BYTES = 4 << 30
T = TypeVar("T")


class Unavailable(Exception):
    """A server is not available on this machine; the message is the reason of the skipped test."""


class Source(Protocol):
    """Where servers come from. The exit stack closes those that it starts."""

    async def mongo(self, closing: AsyncExitStack) -> str:
        """The URI of a replica set."""
        ...

    async def kafka(self, closing: AsyncExitStack) -> str:
        """Bootstrap addresses, `host:port`."""
        ...


class GivenServers:
    """Servers that run already."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    async def mongo(self, closing: AsyncExitStack) -> str:
        return self._address("mongo")

    async def kafka(self, closing: AsyncExitStack) -> str:
        return self._address("kafka")

    def _address(self, part: str) -> str:
        address = self._environ.get(ADDRESSES[part])
        if not address:
            raise Unavailable(f"MOBILETEST_TEST_SOURCE=given, but {ADDRESSES[part]} is not set")
        return address


class ContainerServers:
    """Containers through testcontainers; needs a Docker socket."""

    async def mongo(self, closing: AsyncExitStack) -> str:
        return await closing.enter_async_context(mongo_container())

    async def kafka(self, closing: AsyncExitStack) -> str:
        return await closing.enter_async_context(kafka_container())


class EmbeddedServers:
    """Child processes of this one, in a temporary folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def mongo(self, closing: AsyncExitStack) -> str:
        server = await closing.enter_async_context(mongod(self._folder / "mongod"))
        return server.uri

    async def kafka(self, closing: AsyncExitStack) -> str:
        server = await closing.enter_async_context(broker(self._folder / "broker.log"))
        return server.bootstrap


class Infrastructure:
    """The parts of one test run, each started at most once; an async context manager that stops them."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = environ
        self._closing = AsyncExitStack()
        self._outcomes: dict[str, Task[Any]] = {}
        self.folder = Path()

    async def __aenter__(self) -> "Infrastructure":
        remove_left_over_folders()
        self.folder = self._closing.enter_context(server_folder())
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._closing.aclose()

    async def mongo(self) -> str:
        """The URI of the replica set. Unavailable with the reason, the same one on each call."""
        return await self._once("mongo", lambda: _or_unavailable("mongo", self._source("mongo").mongo(self._closing)))

    async def kafka(self) -> str:
        """The broker's bootstrap addresses. Unavailable with the reason, the same one on each call."""
        return await self._once("kafka", lambda: _or_unavailable("kafka", self._source("kafka").kafka(self._closing)))

    async def stack(self) -> Stack:
        """All services, on private servers when these are embedded. Unavailable, or the error of the start."""
        return await self._once("stack", self._start_stack)

    async def _start_stack(self) -> Stack:
        mongo_uri = None if self._embeds("mongo") else await self.mongo()
        kafka_bootstrap = None if self._embeds("kafka") else await self.kafka()
        start = run_stack(
            self.folder / "stack", mongo_uri=mongo_uri, kafka_bootstrap=kafka_bootstrap, extra_env=PATIENT
        )
        try:
            stack = await self._closing.enter_async_context(start)
        except binaries.BinaryMissing as missing:
            raise Unavailable(str(missing)) from missing
        client: Client
        with MongoClient(stack.mongo_uri) as client:
            await to_thread(profile, client)
        return stack

    async def _once(self, part: str, start: Callable[[], Coroutine[None, None, T]]) -> T:
        if part not in self._outcomes:
            self._outcomes[part] = create_task(start())
        outcome: Task[T] = self._outcomes[part]
        return await outcome

    def _embeds(self, part: str) -> bool:
        return source_name(part, self._environ) == "embedded"

    def _source(self, part: str) -> Source:
        sources: dict[str, Callable[[], Source]] = {
            "given": lambda: GivenServers(self._environ),
            "containers": ContainerServers,
            "embedded": lambda: EmbeddedServers(self.folder),
        }
        name = source_name(part, self._environ)
        if name not in sources:
            raise Unavailable(f"MOBILETEST_TEST_SOURCE={name} is not one of {', '.join(sources)}")
        return sources[name]()


async def _or_unavailable(part: str, start: Awaitable[str]) -> str:
    try:
        return await start
    except Exception as error:
        raise Unavailable(f"no {part}: {str(error) or repr(error)}") from error


def source_name(part: str, environ: Mapping[str, str]) -> str:
    """The source that the environment asks for: the named one, else `given` for a given address, else `embedded`."""
    fallback = "given" if environ.get(ADDRESSES[part]) else "embedded"
    return environ.get("MOBILETEST_TEST_SOURCE") or fallback


def describe(environ: Mapping[str, str] = os.environ) -> str:
    """One line for the head of a test report: which part comes from where."""
    embedded = {"mongo": binaries.mongod, "kafka": binaries.broker}
    return ", ".join(f"{part} {_describe(source_name(part, environ), find)}" for part, find in embedded.items())


def _describe(source: str, find: Callable[[], binaries.Binary]) -> str:
    if source != "embedded":
        return source
    try:
        return f"embedded ({find().origin})"
    except binaries.BinaryMissing as missing:
        return f"missing ({missing})"


@contextmanager
def server_folder() -> Iterator[Path]:
    """A folder for the data of servers, deleted at the end; in memory where there is room, since MongoDB waits for the
    disk at each index that it creates.
    """
    in_memory = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM_BYTES
    folder = Path(tempfile.mkdtemp(prefix=f"{_FOLDER_PREFIX}{os.getpid()}-", dir=_MEMORY if in_memory else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_left_over_folders() -> None:
    """Delete the folders of test runs that were killed."""
    for folder in chain(*(place.glob(f"{_FOLDER_PREFIX}*") for place in (_MEMORY, Path(tempfile.gettempdir())))):
        pid = folder.name.removeprefix(_FOLDER_PREFIX).split("-")[0]
        if pid.isdigit() and not _exists(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
