"""What both roles of the executor share: connections, storage and the outbox relay."""

from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from mobiletest_automation.model.devices import Session
from services.chassis.health import AdminServer, Health
from services.chassis.lifecycle import Background
from services.chassis.migrations import open_migrated
from services.chassis.mongo import Mongo
from services.chassis.object_store import ObjectStore
from services.chassis.outbox import Outbox
from services.chassis.outbox_relay import OutboxRelay
from services.chassis.producer import Producer
from services.executor.catalog import RemoteCatalog, open_catalog_channel
from services.executor.events import topics
from services.executor.settings import Settings
from services.executor.storage.migrations import MIGRATIONS
from services.executor.storage.runs import MongoRuns
from services.executor.storage.transactions import ExecutionTransactions
from services.executor.storage.workers import MongoUncleanDevices
from services.executor.worker.session_tracker import SessionTracker

SOURCE = "mobiletest.executor"
# For ending an orphaned session.
DELETE_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class Resources:
    """Opened once per process. Everything closes with `stack`, in reverse order of opening."""

    settings: Settings
    stack: AsyncExitStack
    background: Background
    health: Health
    admin: AdminServer
    mongo: Mongo
    producer: Producer
    outbox: Outbox
    transactions: ExecutionTransactions
    runs: MongoRuns
    catalog: RemoteCatalog
    objects: ObjectStore

    async def start(self, name: str, work: Coroutine[Any, Any, None], **options: Any) -> None:
        """Start a background task that ends with the stack; `options` are those of `Background.run`."""
        await self.stack.enter_async_context(self.background.run(name, work, **options))


async def open_resources(settings: Settings, stack: AsyncExitStack) -> Resources:
    """Start the admin server, connect to MongoDB and Kafka, migrate the database, and start the outbox relay."""
    background = await stack.enter_async_context(Background())
    health = Health()
    admin = await stack.enter_async_context(AdminServer(settings.admin_listen, health))
    database = open_migrated(settings.mongo_uri, settings.executor_database, MIGRATIONS, settings.mongo_driver)
    mongo = await stack.enter_async_context(database)
    health.register("mongodb", mongo.ping)
    partitions = topics(settings.run_request_partitions)
    producer = Producer(settings.kafka, partitions, idempotence=settings.kafka_idempotence)
    await stack.enter_async_context(producer)
    outbox = Outbox(mongo, SOURCE)
    await stack.enter_async_context(background.run("relay", OutboxRelay(mongo, outbox, producer).run()))
    transactions = ExecutionTransactions(mongo, outbox, settings.limits)
    channel = open_catalog_channel(settings.catalog_address, settings.token, settings.tls)
    await stack.enter_async_context(channel)
    catalog = RemoteCatalog(channel, settings.organisation_limits)
    return Resources(
        settings=settings,
        stack=stack,
        background=background,
        health=health,
        admin=admin,
        mongo=mongo,
        producer=producer,
        outbox=outbox,
        transactions=transactions,
        runs=MongoRuns(transactions, lambda org_id: catalog.limits.known(org_id).concurrent_runs),
        catalog=catalog,
        objects=ObjectStore.open(settings.object_store),
    )


def track_sessions(shared: Resources) -> SessionTracker:
    """Deletes orphaned sessions after cleaning their devices."""
    unclean = MongoUncleanDevices(shared.mongo)

    async def delete(session: Session) -> bool:
        # Imported for the first orphan, because with aiohttp it takes 9 MiB.
        from mobiletest_automation.devices.webdriver.sessions import delete_session

        return await delete_session(session, timeout=DELETE_SECONDS, unclean=unclean)

    return SessionTracker(shared.runs, delete)
