"""Schema migrations: applied in order, once each, by one process at a time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

import pymongo

from services.chassis import logs
from services.chassis.leases import Lease, MongoLease
from services.chassis.mongo import Driver, Mongo

MIGRATIONS = "_migrations"
LEASE_SECONDS = 60.0
# Replaces the driver's timeout: MongoDB needs minutes for an index of millions of documents, and gives it up when the
# connection ends.
MIGRATION_SECONDS = 12 * 3600.0

log = logs.get(__name__)


@dataclass(frozen=True, slots=True)
class Migration:
    """One step. `id` ("0001_apps") determines the order; `apply` is idempotent, since a process may die during it, and
    only adds, since older versions run beside it during a rollout.
    """

    id: str
    apply: Callable[[Mongo], Awaitable[None]]


class SchemaIsNewer(Exception):
    """A newer version of this service migrated the database: this version must not use it."""


@asynccontextmanager
async def open_migrated(
    uri: str, database: str, migrations: Sequence[Migration], driver: Driver = "motor"
) -> AsyncIterator[Mongo]:
    """The database with its schema migrated; waits without limit until MongoDB answers.

    Raises:
        SchemaIsNewer: a newer version has migrated the database.
    """
    mongo = await Mongo.connect(uri, database, driver)
    try:
        await migrate(mongo, migrations)
        yield mongo
    finally:
        await mongo.close()


async def migrate(mongo: Mongo, migrations: Sequence[Migration], *, wait_seconds: float = 0.5) -> None:
    """Apply missing migrations; processes that start together wait for each other.

    Raises:
        SchemaIsNewer: a newer version has migrated the database.
        ValueError: the migrations are not in the order of their ids, or two have the same.
    """
    ids = [migration.id for migration in migrations]
    if ids != sorted(set(ids)):
        raise ValueError("the ids of migrations must be unique and in order")
    lease = MongoLease(mongo, "migrations", str(uuid4()), seconds=LEASE_SECONDS)
    while await _missing(mongo, migrations):
        if await lease.acquire():
            try:
                await _apply_all(mongo, migrations, lease)
            finally:
                await lease.release()
        else:
            await asyncio.sleep(wait_seconds)


async def applied_at(mongo: Mongo, id: str) -> datetime:
    """When the migration was applied, by MongoDB's clock."""
    row = await mongo.collection(MIGRATIONS).find_one({"_id": id})
    at: datetime = row["applied_at"]
    return at


async def _apply_all(mongo: Mongo, migrations: Sequence[Migration], lease: Lease) -> None:
    for migration in await _missing(mongo, migrations):
        log.info("migrating", migration=migration.id)
        with pymongo.timeout(MIGRATION_SECONDS):
            await migration.apply(mongo)
        await _record(mongo, migration)
        await lease.acquire()


async def _missing(mongo: Mongo, migrations: Sequence[Migration]) -> list[Migration]:
    applied = {row["_id"] for row in await mongo.collection(MIGRATIONS).find({}, {"_id": 1}).to_list(None)}
    unknown = applied - {migration.id for migration in migrations}
    if unknown:
        raise SchemaIsNewer(
            f"the database has migrations unknown to this version: {', '.join(sorted(unknown))}; "
            "deploy a version that knows them (docs/runbooks/roll-back.md)"
        )
    return [migration for migration in migrations if migration.id not in applied]


async def _record(mongo: Mongo, migration: Migration) -> None:
    now = {"$set": {"applied_at": "$$NOW"}}
    await mongo.collection(MIGRATIONS).update_one({"_id": migration.id}, [now], upsert=True)
