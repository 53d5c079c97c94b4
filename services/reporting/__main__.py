"""`python -m services.reporting` serves; `... verify` and `... rebuild` are commands for operators."""

import sys

from services.chassis.lifecycle import main
from services.reporting import commands
from services.reporting.app import start_app
from services.reporting.settings import Settings

if __name__ == "__main__":
    if len(sys.argv) > 1:
        commands.run(sys.argv[1:])
    else:
        main(start_app, Settings)
