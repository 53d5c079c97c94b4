"""The commands `verify` and `rebuild` for operators."""

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from contextlib import aclosing

from services.chassis import logs
from services.chassis.error_status import to_domain_error
from services.chassis.settings import load
from services.reporting.app import open_database, open_rebuild_jobs
from services.reporting.rebuild.job import RebuildJob
from services.reporting.rebuild.output import JsonOutput, ProgressOutput, TextOutput
from services.reporting.rebuild.state import JobKind
from services.reporting.settings import Settings

EXIT_OK, EXIT_DIFFERENT, EXIT_FAILED = 0, 1, 2
_HELP = {
    JobKind.VERIFY: "fold the whole history into separate read models, and print every difference",
    JobKind.REBUILD: "fold the whole history into new read models, and let these serve",
}


def run(arguments: Sequence[str]) -> None:
    """Run `verify` or `rebuild`. Exits 0 when there was no difference or all were repaired, 1 when `verify` found some,
    and 2 when it failed or was interrupted; the same command then resumes it.
    """
    parser = argparse.ArgumentParser(prog="python -m services.reporting")
    commands = parser.add_subparsers(dest="command", required=True)
    for operation, description in _HELP.items():
        command = commands.add_parser(operation.value, help=description, description=description)
        command.add_argument("--restart", action="store_true", help="start over instead of resuming an interrupted one")
        command.add_argument("--json", action="store_true", help="print a JSON object per line")
    options = parser.parse_args(arguments)
    settings = load(Settings)
    logs.configure(settings, sys.stderr)
    output = JsonOutput(sys.stdout) if options.json else TextOutput(sys.stdout, sys.stderr)
    raise SystemExit(asyncio.run(_run_until_signal(settings, JobKind(options.command), options.restart, output)))


async def _run_until_signal(settings: Settings, operation: JobKind, restart: bool, output: ProgressOutput) -> int:
    work = asyncio.ensure_future(_run_operation(settings, operation, restart, output))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, work.cancel)
    try:
        return await work
    except asyncio.CancelledError:
        output.failed(f"interrupted; call {operation.value} again to resume it")
        return EXIT_FAILED


async def _run_operation(settings: Settings, operation: JobKind, restart: bool, output: ProgressOutput) -> int:
    async with open_database(settings) as mongo, open_rebuild_jobs(settings, mongo) as new_job:
        try:
            return await run_job(new_job(), operation, output, restart=restart)
        except Exception as error:
            known = to_domain_error(error)
            if known is None:
                raise
            output.failed(f"{known.message} ({known.reason})" if known.reason else known.message)
            return EXIT_FAILED


async def run_job(job: RebuildJob, operation: JobKind, output: ProgressOutput, *, restart: bool) -> int:
    """Run the job, writing its progress; gives the exit code."""
    async with aclosing(job.run(operation, restart=restart)) as steps:
        async for progress in steps:
            output.progress(progress)
    output.ended(progress.state)
    return EXIT_DIFFERENT if operation is JobKind.VERIFY and progress.state.differences else EXIT_OK
