"""The child process: limits itself, reads one artifact, and prints what it found as JSON.

Run as `python -m services.catalog.inspection.child PATH`. Whatever the artifact does to it, the service goes on.
"""

import json
import resource
import sys
from contextlib import suppress
from dataclasses import asdict

from services.catalog.inspection.caps import MIB, HostileArchive
from services.catalog.inspection.manifests import Unreadable, read

CPU_SECONDS = 10
ADDRESS_SPACE = 512 * MIB


def main(path: str) -> None:
    """Print `{"package_name", "version"}`, `{"error"}` if it is unreadable, or `{"hostile"}`."""
    limit()
    print(json.dumps(_inspected(path)))


def limit() -> None:
    """Take away from this process what reading a manifest does not need."""
    limits = {
        resource.RLIMIT_CPU: CPU_SECONDS,
        resource.RLIMIT_AS: ADDRESS_SPACE,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
    }
    for kind, value in limits.items():
        with suppress(ValueError, OSError):  # macOS refuses some; the parent's time limit holds everywhere
            resource.setrlimit(kind, (value, value))


def _inspected(path: str) -> dict[str, str | None]:
    try:
        return asdict(read(path))
    except HostileArchive as problem:
        return {"hostile": str(problem)}
    except Unreadable as problem:
        return {"error": str(problem)}
    except Exception as problem:  # (a parser may die of anything, and its artifact is kept)
        return {"error": f"its manifest cannot be read ({type(problem).__name__})"}


if __name__ == "__main__":
    main(sys.argv[1])
