"""`python -m services.catalog` serves; `migrate`, `bootstrap --name NAME` and `republish` are one-off commands."""

import sys

from services.catalog.app import start_app
from services.catalog.commands import run_command
from services.catalog.settings import Settings
from services.chassis.lifecycle import main

if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(run_command(sys.argv[1:]))
    main(start_app, Settings)
