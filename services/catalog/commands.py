"""One-off commands of the catalog: migrating its database, and making an organisation with its first key."""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence

from services.catalog.app import migrated
from services.catalog.publisher import SOURCE, Publisher
from services.catalog.settings import Settings
from services.catalog.storage.keys import MongoKeyRing, MongoOrganisations
from services.catalog.storage.store import MongoStore
from services.catalog.usecases.keys import BootstrapUseCases, IssuedKey, KeyUseCases
from services.chassis import logs
from services.chassis.clock import SystemClock
from services.chassis.mongo import Mongo
from services.chassis.outbox import Outbox
from services.chassis.settings import load


def run(arguments: Sequence[str]) -> None:
    """`migrate`, or `bootstrap --name NAME`, which prints {"org_id", "api_key"} as JSON."""
    parser = argparse.ArgumentParser(prog="python -m services.catalog")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("migrate", help="bring the database's schema up to date")
    bootstrap = commands.add_parser("bootstrap", help="make an organisation with a key that may do everything")
    bootstrap.add_argument("--name", required=True, help="the organisation's name")
    asked = parser.parse_args(arguments)
    settings = load(Settings)
    logs.configure(settings)
    asyncio.run(_bootstrap(settings, asked.name) if asked.command == "bootstrap" else _migrate(settings))


async def _migrate(settings: Settings) -> None:
    async with migrated(settings):
        pass


async def _bootstrap(settings: Settings, name: str) -> None:
    async with migrated(settings) as mongo:
        issued = await bootstrapped(mongo, name)
    sys.stdout.write(json.dumps({"org_id": issued.key.org_id, "api_key": issued.value}) + "\n")


async def bootstrapped(mongo: Mongo, name: str) -> IssuedKey:
    """A new organisation with a key that may do everything; its events wait in the outbox for a running catalog."""
    clock = SystemClock()
    store = MongoStore(mongo, Publisher(Outbox(mongo, SOURCE)), clock)
    keys = KeyUseCases(store, MongoKeyRing(mongo), clock)
    return await BootstrapUseCases(MongoOrganisations(mongo), keys, clock).bootstrap(name)
