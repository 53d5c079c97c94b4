"""`python -m services.executor` serves; `republish` and `recount` are one-off commands."""

import sys

from services.chassis.lifecycle import main
from services.executor.app import start_app
from services.executor.commands import run_command
from services.executor.settings import Settings

if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(run_command(sys.argv[1:]))
    main(start_app, Settings)
