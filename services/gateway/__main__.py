"""Start the gateway."""

from services.chassis.lifecycle import main
from services.gateway.app import start_app
from services.gateway.settings import Settings

if __name__ == "__main__":
    main(start_app, Settings)
