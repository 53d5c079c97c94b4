"""MongoDB, through motor or PyMongo Async: no other module depends on which of them it is."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC
from time import monotonic
from typing import Any, Literal, TypeVar

import stamina
from bson.codec_options import CodecOptions
from pymongo import AsyncMongoClient, ReadPreference, monitoring
from pymongo.errors import PyMongoError
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from services.chassis import logs, metrics
from services.chassis.mongo_errors import database_unavailable

Document = dict[str, Any]
Session = Any  # the drivers' session types have no common base
Collection = Any  # likewise; most methods are the same in both, but see `aggregate` and `watch`
T = TypeVar("T")

TRANSACTION_SECONDS = 8.0
ABORT_SECONDS = 0.5
# A server that has not answered a ping for so long hangs. Drivers find that out after twice as long.
PING_SECONDS = 2.0

Driver = Literal["motor", "pymongo"]
_WRITE = WriteConcern(w="majority", j=True)

log = logs.get(__name__)

_commands = metrics.histogram("mobiletest_mongo_command_seconds", "Duration of commands in seconds", ["command"])
_failures = metrics.counter("mobiletest_mongo_command_failures_total", "Failed commands", ["command"])
_in_use = metrics.gauge("mobiletest_mongo_connections_in_use", "Connections in use")
_wait = metrics.histogram("mobiletest_mongo_connection_wait_seconds", "Seconds until a connection was free")


class CommandMetrics(monitoring.CommandListener):
    """Durations by the name of the command (find, update ...)."""

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        """Not counted."""

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        _commands.labels(event.command_name).observe(event.duration_micros / 1e6)

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        _commands.labels(event.command_name).observe(event.duration_micros / 1e6)
        _failures.labels(event.command_name).inc()


class ConnectionMetrics(monitoring.ConnectionPoolListener):
    """Connections in use, and the time until one was free."""

    def connection_checked_out(self, event: monitoring.ConnectionCheckedOutEvent) -> None:
        _in_use.inc()
        _wait.observe(event.duration or 0.0)

    def connection_checked_in(self, event: monitoring.ConnectionCheckedInEvent) -> None:
        _in_use.dec()

    def _ignore(self, event: object) -> None:
        """Not counted."""

    pool_created = pool_ready = pool_cleared = pool_closed = _ignore
    connection_created = connection_ready = connection_closed = _ignore
    connection_check_out_started = connection_check_out_failed = _ignore


class Mongo:
    """One database. Write concern majority and journalled, read concern majority, primary, aware UTC datetimes."""

    def __init__(self, client: Any, database: str, driver: str) -> None:
        """`client` is a motor or a PyMongo Async client; see `connect`."""
        self._client = client
        self._motor = driver == "motor"
        self._collections: dict[str, Collection] = {}
        self._pinging: asyncio.Task[None] | None = None
        self._pinged_at = 0.0
        self._ending: set[asyncio.Future[None]] = set()
        self.database = client.get_database(
            database,
            codec_options=CodecOptions(tz_aware=True, tzinfo=UTC),
            read_preference=ReadPreference.PRIMARY,
            write_concern=_WRITE,
            read_concern=ReadConcern("majority"),
        )

    @classmethod
    async def connect(cls, uri: str, database: str, driver: Driver = "motor") -> "Mongo":
        """Connect; waits without limit until MongoDB answers."""
        mongo = cls.unconnected(uri, database, driver)
        try:
            await mongo.wait()
        except BaseException:
            await mongo.close()
            raise
        return mongo

    @classmethod
    def unconnected(cls, uri: str, database: str, driver: Driver = "motor") -> "Mongo":
        """The same without waiting: the driver connects in the background."""
        return cls(_client(uri, driver), database, driver)

    async def wait(self) -> None:
        """Return as soon as the primary answers."""
        async for attempt in stamina.retry_context(
            on=PyMongoError, attempts=None, timeout=None, wait_initial=0.1, wait_max=3.0, wait_jitter=0.5
        ):
            with attempt:
                await self._ping()

    async def ping(self) -> None:
        """The readiness check.

        Raises:
            Unavailable: at once while the driver knows no primary, or while the primary has not answered for
                PING_SECONDS; the checks share one ping.
        """
        if not self._client.topology_description.has_writable_server():
            raise database_unavailable()
        if self._pinging is None or self._pinging.done():
            self._pinging, self._pinged_at = asyncio.create_task(self._ping()), monotonic()
            self._pinging.add_done_callback(_retrieve)
        elif monotonic() - self._pinged_at >= PING_SECONDS:
            raise database_unavailable()
        await asyncio.shield(self._pinging)

    async def _ping(self) -> None:
        await self._client.admin.command("ping", read_preference=ReadPreference.PRIMARY)

    async def close(self) -> None:
        if self._pinging is not None:
            self._pinging.cancel()
        closing = self._client.close()
        if closing is not None:
            await closing

    def collection(self, name: str) -> Collection:
        """The driver's own collection. For `aggregate` and `watch`, which differ, use the methods of this class."""
        collection = self._collections.get(name)
        if collection is None:
            collection = self._collections[name] = self.database[name]
        return collection

    async def aggregate(
        self, collection: str, pipeline: Sequence[Mapping[str, Any]], *, session: Session = None, **options: Any
    ) -> list[Document]:
        """All documents of the pipeline."""
        cursor = self.collection(collection).aggregate(list(pipeline), session=session, **options)
        if not self._motor:
            cursor = await cursor
        documents: list[Document] = await cursor.to_list(None)
        return documents

    @asynccontextmanager
    async def watch(
        self, collection: str, pipeline: Sequence[Mapping[str, Any]] = (), **options: Any
    ) -> AsyncIterator[AsyncIterator[Document]]:
        """A change stream: `async with mongo.watch("runs") as changes: async for change in changes: ...`."""
        stream = self.collection(collection).watch(list(pipeline), **options)
        if not self._motor:
            stream = await stream
        async with stream as changes:
            yield changes

    async def transaction(self, work: Callable[[Session], Awaitable[T]], *, seconds: float = TRANSACTION_SECONDS) -> T:
        """The result of `work(session)`, run in one transaction (snapshot, majority).

        `work` is retried after a transient error for so many seconds, so it must have no effects outside of the
        session.
        """
        began = asyncio.get_running_loop().time()
        attempt = 0
        while True:
            attempt += 1
            try:
                # `seconds` limits only the retries: a commit without an answer is repeated for longer, or its outcome
                # stays unknown.
                return await self._attempt(work, began + TRANSACTION_SECONDS)
            except PyMongoError as error:
                late = asyncio.get_running_loop().time() >= began + seconds
                if late or not error.has_error_label("TransientTransactionError") or _is_down(error):
                    raise
            await asyncio.sleep(min(0.5, 0.005 * 2**attempt) * random.random())  # noqa: S311 (jitter)

    async def snapshot(self, work: Callable[[Session], Awaitable[T]]) -> T:
        """The result of `work(session)`, which only reads, on one snapshot that a majority has. Unlike a transaction it
        may take minutes.
        """
        session = self._client.start_session(snapshot=True)
        if self._motor:
            session = await session
        async with session:
            return await work(session)

    async def _attempt(self, work: Callable[[Session], Awaitable[T]], deadline: float) -> T:
        session = self._client.start_session()
        if self._motor:
            session = await session
        try:
            await self._begin(session)
            result = await work(session)
            await _commit(session, deadline)
        except BaseException:
            await self._abort(session)
            raise
        await session.end_session()
        return result

    async def _abort(self, session: Session) -> None:
        """Abort the transaction if it is in progress. A server that hangs is not waited for."""
        ending = asyncio.ensure_future(session.end_session())
        self._ending.add(ending)
        ending.add_done_callback(self._ended)
        await asyncio.wait([ending], timeout=ABORT_SECONDS)

    def _ended(self, ending: asyncio.Future[None]) -> None:
        self._ending.discard(ending)
        _retrieve(ending)

    async def _begin(self, session: Session) -> None:
        begun = session.start_transaction(
            read_concern=ReadConcern("snapshot"), write_concern=_WRITE, read_preference=ReadPreference.PRIMARY
        )
        if not self._motor:
            await begun


def below(first: str) -> Document:
    """The condition on an indexed text "first/second/..." that its first part is this one."""
    return {"$gte": f"{first}/", "$lt": f"{first}0"}  # "0" follows "/"


def _retrieve(left: asyncio.Future[None]) -> None:
    """Whoever started this may have stopped waiting for it."""
    if not left.cancelled():
        left.exception()


async def _commit(session: Session, deadline: float) -> None:
    while True:
        try:
            # Committing again is harmless: the server answers with the outcome of the first commit.
            await session.commit_transaction()
            return
        except PyMongoError as error:
            late = asyncio.get_running_loop().time() >= deadline
            if late or not error.has_error_label("UnknownTransactionCommitResult") or _is_down(error):
                raise


def _client(uri: str, driver: str) -> Any:
    options: dict[str, Any] = {
        "serverSelectionTimeoutMS": 2500,
        "connectTimeoutMS": 2000,
        "heartbeatFrequencyMS": 2000,  # a server that hangs is detected within this and the connect timeout
        "socketTimeoutMS": 20_000,
        "waitQueueTimeoutMS": 3000,
        "maxPoolSize": 100,
        "retryWrites": True,
        "retryReads": True,
        "appname": "mobiletest",
        "event_listeners": [CommandMetrics(), ConnectionMetrics()],
    }
    if driver == "pymongo":
        return AsyncMongoClient(uri, **options)
    from motor.motor_asyncio import AsyncIOMotorClient

    return AsyncIOMotorClient(uri, **options)


def _is_down(error: PyMongoError) -> bool:
    """No primary within the server selection timeout: an immediate retry would only wait longer."""
    return type(error).__name__ == "ServerSelectionTimeoutError"
