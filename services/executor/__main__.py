"""Starts the executor."""

from services.chassis.lifecycle import main
from services.executor.app import start_app
from services.executor.settings import Settings

if __name__ == "__main__":
    main(start_app, Settings)
