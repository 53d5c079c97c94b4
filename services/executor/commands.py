"""Commands of the executor: republish events, and count runs again."""

import argparse
import asyncio
import sys
from collections.abc import Sequence

from services.chassis import logs, republish
from services.chassis.mongo import Mongo
from services.chassis.mongo_errors import as_unavailable
from services.chassis.settings import load
from services.executor.events import topics
from services.executor.settings import Settings
from services.executor.storage.run_counts import MongoRunCounts


def run_command(arguments: Sequence[str]) -> int:
    """`republish` or `recount`; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m services.executor")
    commands = parser.add_subparsers(dest="command", required=True)
    republish.add_command(commands)
    counts_runs = "count the stored runs of all organisations again"
    commands.add_parser("recount", help=counts_runs, description=counts_runs)
    parsed = parser.parse_args(arguments)
    settings = load(Settings)
    logs.configure(settings, sys.stderr)
    if parsed.command == "recount":
        return _recount(settings)
    return republish.run_command(settings, settings.executor_database, topics(settings.run_request_partitions), parsed)


def _recount(settings: Settings) -> int:
    async def recount() -> int:
        mongo = await Mongo.connect(settings.mongo_uri, settings.executor_database, settings.mongo_driver)
        try:
            return await MongoRunCounts(mongo).recount()
        finally:
            await mongo.close()

    try:
        sys.stdout.write(f"organisations with another number of runs than counted: {asyncio.run(recount())}\n")
    except Exception as error:
        if as_unavailable(error) is None:
            raise
        sys.stderr.write(f"recount stopped: {error}\n")
        return 1
    return 0
