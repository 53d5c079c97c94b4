"""Starts the executor."""

from services.chassis.lifecycle import main
from services.executor.app import running
from services.executor.settings import Settings

if __name__ == "__main__":
    main(running, Settings)
