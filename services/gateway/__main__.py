"""Start the gateway."""

from services.chassis.lifecycle import main
from services.gateway.app import running
from services.gateway.settings import Settings

if __name__ == "__main__":
    main(running, Settings)
