"""Inspects artifacts in child processes, so that a malicious artifact cannot harm the service or delay others."""

import json
import os
from dataclasses import asdict
from pathlib import Path

from mobiletest_automation.app_files import reader
from mobiletest_automation.app_files.archive_limits import HostileArchive
from mobiletest_automation.app_files.file_kind import describe_file
from services.catalog.model.builds import Inspection, RejectedArtifact
from services.catalog.model.values import Platform
from services.chassis.child_pool import ChildPool, JobFailed, JobLimits
from services.chassis.child_process import preload
from services.chassis.context import current
from services.chassis.fair_turns import FairTurns

LIMITS = JobLimits(cpu_seconds=4, wall_seconds=15, memory_bytes=128 * 2**20, answer_bytes=64 * 2**10)
CHILDREN = 2


class ProcessInspector:
    """Inspects each artifact in a child of its own. An organisation occupies at most one of the children."""

    def __init__(self, limits: JobLimits = LIMITS) -> None:
        preload(reader.__name__)
        turns = FairTurns(CHILDREN, per_org=1, waiting_per_org=64, waiting=256)
        self._children = ChildPool("inspector", answer, turns, limits)

    async def inspect(self, path: Path) -> Inspection | RejectedArtifact:
        """See the port.

        Raises:
            ResourceExhausted: too many artifacts wait.
            Unavailable: too many artifacts wait.
        """
        if not reader.is_known_kind(path):
            return Inspection(kind=describe_file(path))
        try:
            inspected = json.loads(await self._children.call(current().org_id, os.fsencode(path)))
        except JobFailed as failure:
            return Inspection(error=f"the inspection failed: {failure}")
        if "rejected" in inspected:
            return RejectedArtifact(inspected["rejected"])
        platform = inspected.pop("platform", None)
        return Inspection(**inspected, platform=Platform(platform) if platform else None)


def answer(path: bytes) -> bytes:
    """The fields of an Inspection as JSON, or `{"rejected": reason}`. It runs in the child."""
    try:
        inspected: dict[str, str | None] = asdict(reader.read_app_file(os.fsdecode(path)))
    except HostileArchive as problem:
        inspected = {"rejected": f"not a plausible app file: {problem}"}
    except reader.NotInstallable as problem:
        inspected = {"rejected": f"this is {problem}"}
    except reader.UnreadableAppFile as problem:
        inspected = {"error": str(problem)}
    except MemoryError:
        raise
    except Exception as problem:  # (a parser can raise anything; the artifact is stored nevertheless)
        inspected = {"error": f"its manifest cannot be read ({type(problem).__name__})"}
    return json.dumps(inspected).encode()
