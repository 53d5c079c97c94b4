"""Commands for operators: checking the read models, and making them anew."""

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from contextlib import aclosing
from typing import Protocol

from services.chassis import logs
from services.chassis.error_status import to_domain_error
from services.chassis.errors import DomainError
from services.chassis.settings import load
from services.reporting.app import open_database, open_rebuild_jobs
from services.reporting.rebuild.job import RebuildJob
from services.reporting.rebuild.output import JsonOutput, TextOutput
from services.reporting.rebuild.state import JobProgress, JobState, Operation, Phase
from services.reporting.settings import Settings

EXIT_OK, EXIT_DIFFERENT, EXIT_FAILED = 0, 1, 2


class Output(Protocol):
    """Where an operation is shown."""

    def progress(self, progress: JobProgress) -> None: ...

    def ended(self, state: JobState) -> None: ...

    def failed(self, message: str) -> None: ...


def run(arguments: Sequence[str]) -> None:
    """`verify` or `rebuild`. Exits 0 when no difference was found (or all were repaired), 1 when some were, 2 when it
    could not be carried out; after Ctrl-C, too: the same command goes on from there."""
    parser = argparse.ArgumentParser(prog="python -m services.reporting")
    commands = parser.add_subparsers(dest="command", required=True)
    for operation, what in (
        (Operation.VERIFY, "fold the whole history aside, and print every difference to what is served"),
        (Operation.REBUILD, "fold the whole history into new read models, and let these serve"),
    ):
        command = commands.add_parser(operation.value, help=what, description=what)
        command.add_argument("--restart", action="store_true", help="begin anew, though an interrupted one could go on")
        command.add_argument("--json", action="store_true", help="print a JSON object per line")
    asked = parser.parse_args(arguments)
    settings = load(Settings)
    logs.configure(settings, sys.stderr)
    output = JsonOutput(sys.stdout) if asked.json else TextOutput(sys.stdout, sys.stderr)
    raise SystemExit(asyncio.run(_interruptible(settings, Operation(asked.command), asked.restart, output)))


async def _interruptible(settings: Settings, operation: Operation, restart: bool, output: Output) -> int:
    """Until it ends, or SIGINT or SIGTERM."""
    work = asyncio.ensure_future(_run_operation(settings, operation, restart, output))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, work.cancel)
    try:
        return await work
    except asyncio.CancelledError:
        output.failed(f"interrupted; {operation.value} goes on from here when it is called again")
        return EXIT_FAILED


async def _run_operation(settings: Settings, operation: Operation, restart: bool, output: Output) -> int:
    async with open_database(settings) as mongo, open_rebuild_jobs(settings, mongo) as operating:
        try:
            return await run_job(operating(), operation, output, restart=restart)
        except Exception as error:
            known = to_domain_error(error)
            if known is None:
                raise
            output.failed(_error_line(known))
            return EXIT_FAILED


async def run_job(operating: RebuildJob, operation: Operation, output: Output, *, restart: bool = False) -> int:
    """Carry the operation out, showing where it stands; gives the exit code."""
    async with aclosing(operating.run(operation, restart=restart)) as steps:
        async for progress in steps:
            output.progress(progress)
    output.ended(progress.state)
    found = progress.state.phase is Phase.DONE and operation is Operation.VERIFY and progress.state.differences
    return EXIT_DIFFERENT if found else EXIT_OK


def _error_line(error: DomainError) -> str:
    return f"{error.message} ({error.reason})" if error.reason else error.message
