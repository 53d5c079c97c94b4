"""Start the gateway."""

import ctypes
from contextlib import suppress

from services.chassis.lifecycle import main
from services.gateway.app import start_app
from services.gateway.settings import Settings

# Parameters of mallopt, and their values in bytes.
MEMORY_OPTIONS = {-1: 4 * 1024**2, -3: 2 * 1024**2}  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD


def keep_freed_memory() -> None:
    """Let the C library keep a few MiB of freed memory, if it is glibc. It would give each chunk of an upload back to
    the system, and take it again page by page, which costs more than copying the chunk.
    """
    with suppress(AttributeError):
        for option, value in MEMORY_OPTIONS.items():
            ctypes.CDLL(None).mallopt(option, value)


if __name__ == "__main__":
    keep_freed_memory()
    main(start_app, Settings)
