"""`python -m services.catalog` serves; `... migrate` and `... bootstrap --name NAME` are one-off commands."""

import sys

from services.catalog import commands
from services.catalog.app import start_app
from services.catalog.settings import Settings
from services.chassis.lifecycle import main

if __name__ == "__main__":
    if len(sys.argv) > 1:
        commands.run_command(sys.argv[1:])
    else:
        main(start_app, Settings)
