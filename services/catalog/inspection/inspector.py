"""Inspects artifacts in child processes, so that a malicious artifact cannot harm the service or delay others."""

import json
import os
from pathlib import Path

from services.catalog.inspection import manifest_reader
from services.catalog.model.builds import Inspection, RejectedArtifact
from services.chassis.child_pool import ChildPool, JobFailed, JobLimits
from services.chassis.child_process import preload
from services.chassis.context import current
from services.chassis.fair_turns import FairTurns

LIMITS = JobLimits(cpu_seconds=2, wall_seconds=15, memory_bytes=128 * 2**20, answer_bytes=64 * 2**10)
CHILDREN = 2


class ProcessInspector:
    """Inspects each artifact in a child of its own. An organisation occupies at most one of the children."""

    def __init__(self, limits: JobLimits = LIMITS) -> None:
        preload(manifest_reader.__name__, *manifest_reader.PARSERS)
        turns = FairTurns(CHILDREN, per_org=1, waiting_per_org=64, waiting=256)
        self._children = ChildPool("inspector", manifest_reader.answer, turns, limits)

    async def inspect(self, path: Path) -> Inspection | RejectedArtifact:
        """See the port. ResourceExhausted and Unavailable when too many artifacts wait."""
        if not manifest_reader.is_archive(path):
            return Inspection()
        try:
            answer = await self._children.call(current().org_id, os.fsencode(path))
        except JobFailed as failure:
            return Inspection(error=f"the inspection failed: {failure}")
        return _parse(answer)


def _parse(answer: bytes) -> Inspection | RejectedArtifact:
    found: dict[str, str | None] = json.loads(answer)
    if found.get("hostile"):
        return RejectedArtifact(str(found["hostile"]))
    return Inspection(package_name=found.get("package_name"), version=found.get("version"), error=found.get("error"))
