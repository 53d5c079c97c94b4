"""`python -m services.chassis.dead_letters list|replay`."""

import sys

from services.chassis.dead_letters.commands import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
