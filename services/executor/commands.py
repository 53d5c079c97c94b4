"""Commands of the executor: republish events."""

import argparse
import sys
from collections.abc import Sequence

from services.chassis import logs, republish
from services.chassis.settings import load
from services.executor.events import topics
from services.executor.settings import Settings


def run_command(arguments: Sequence[str]) -> int:
    """`republish`; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m services.executor")
    republish.add_command(parser.add_subparsers(dest="command", required=True))
    parsed = parser.parse_args(arguments)
    settings = load(Settings)
    logs.configure(settings, sys.stderr)
    return republish.run_command(settings, settings.executor_database, topics(settings.run_request_partitions), parsed)
