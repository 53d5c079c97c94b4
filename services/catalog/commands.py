"""Commands of the catalog: migrate the database, create an organisation with its first key, republish events."""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence

from services.catalog.app import connect_migrated
from services.catalog.events import SOURCE, TOPICS
from services.catalog.settings import Settings
from services.catalog.storage.keys import MongoKeyRing
from services.catalog.storage.store import MongoStore
from services.catalog.usecases.keys import IssuedKey, KeyUseCases
from services.chassis import logs, republish
from services.chassis.clock import SystemClock
from services.chassis.mongo import Mongo
from services.chassis.outbox import Outbox
from services.chassis.settings import load


def run_command(arguments: Sequence[str]) -> int:
    """`migrate`, `bootstrap --name NAME`, which prints {"org_id", "api_key"} as JSON, or `republish`; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m services.catalog")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("migrate", help="bring the database's schema up to date")
    bootstrap = commands.add_parser("bootstrap", help="create an organisation with an API key that has all scopes")
    bootstrap.add_argument("--name", required=True, help="the organisation's name")
    republish.add_command(commands)
    parsed = parser.parse_args(arguments)
    settings = load(Settings)
    logs.configure(settings, sys.stderr)
    if parsed.command == "republish":
        return republish.run_command(settings, settings.mongo_database, TOPICS, parsed)
    asyncio.run(_bootstrap(settings, parsed.name) if parsed.command == "bootstrap" else _migrate(settings))
    return 0


async def _migrate(settings: Settings) -> None:
    async with connect_migrated(settings):
        pass


async def _bootstrap(settings: Settings, name: str) -> None:
    async with connect_migrated(settings) as mongo:
        issued = await bootstrap_organisation(mongo, name)
    sys.stdout.write(json.dumps({"org_id": issued.key.org_id, "api_key": issued.value}) + "\n")


async def bootstrap_organisation(mongo: Mongo, name: str) -> IssuedKey:
    """A new organisation with a key that has all scopes; a running catalog publishes its events."""
    clock = SystemClock()
    store = MongoStore(mongo, Outbox(mongo, SOURCE), clock)
    return await KeyUseCases(store, MongoKeyRing(mongo), clock).bootstrap(name)
