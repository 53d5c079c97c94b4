"""The child process: sets its resource limits, reads one artifact, and prints the result as JSON.

Run as `python -m services.catalog.inspection.child PATH`. A malicious artifact can end the child, not the service.
"""

import json
import resource
import sys
from contextlib import suppress
from dataclasses import asdict

from services.catalog.inspection.archive_limits import MIB, HostileArchive
from services.catalog.inspection.manifests import UnreadableArtifact, read_manifest

CPU_SECONDS = 10
ADDRESS_SPACE = 512 * MIB


def main(path: str) -> None:
    """Print `{"package_name", "version"}`, `{"error"}` if it is unreadable, or `{"hostile"}`."""
    limit()
    print(json.dumps(_inspect(path)))


def limit() -> None:
    """Set the resource limits of this process."""
    limits = {
        resource.RLIMIT_CPU: CPU_SECONDS,
        resource.RLIMIT_AS: ADDRESS_SPACE,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
    }
    for kind, value in limits.items():
        with suppress(ValueError, OSError):  # macOS refuses some; the parent's time limit holds everywhere
            resource.setrlimit(kind, (value, value))


def _inspect(path: str) -> dict[str, str | None]:
    try:
        return asdict(read_manifest(path))
    except HostileArchive as problem:
        return {"hostile": str(problem)}
    except UnreadableArtifact as problem:
        return {"error": str(problem)}
    except Exception as problem:  # (a parser can raise anything; the artifact is stored nevertheless)
        return {"error": f"its manifest cannot be read ({type(problem).__name__})"}


if __name__ == "__main__":
    main(sys.argv[1])
