"""`python -m deploy.local run`: the whole stack on this machine until Ctrl-C."""

import argparse
import asyncio
import signal
import sys
from dataclasses import replace

from deploy.local import settings
from deploy.local.run import serve


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m deploy.local", description=__doc__)
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="start all services and serve until Ctrl-C")
    run.add_argument(
        "--no-examples", action="store_true", help="do not load the example workspace (MOBILETEST_EXAMPLES=false)"
    )
    run.add_argument("--once", action="store_true", help="stop after the examples, with exit code 1 if they failed")
    run.add_argument(
        "--without", action="append", default=[], metavar="SERVICE", help="do not start SERVICE, but wait until you do"
    )
    run.add_argument("--reload", action="store_true", help="restart the services whose files change")
    arguments = parser.parse_args()
    try:
        chosen = settings.from_environment()
        chosen = replace(chosen, without=frozenset(arguments.without), reload=arguments.reload)
        chosen = replace(chosen, examples=chosen.examples and not arguments.no_examples)
        settings.check_service_names(chosen)
    except settings.InvalidSetting as error:
        parser.error(str(error))
    return asyncio.run(until_signal(chosen, once=arguments.once))


async def until_signal(chosen: settings.StackSettings, *, once: bool) -> int:
    """Serve until SIGINT or SIGTERM; a second signal cancels the shutdown."""
    serving = asyncio.create_task(serve(chosen, once=once))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
    try:
        return await serving
    except asyncio.CancelledError:
        print("stopped")
        return 0


if __name__ == "__main__":
    sys.exit(main())
