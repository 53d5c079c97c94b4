"""`python -m services.reporting` serves."""

from services.chassis.lifecycle import main
from services.reporting.app import running
from services.reporting.settings import Settings

if __name__ == "__main__":
    main(running, Settings)
