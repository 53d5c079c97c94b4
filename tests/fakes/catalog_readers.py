"""Readers of flows, workspaces and artifacts, in this process."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mobiletest_automation.flows.loader import NO_FILES, Files
from mobiletest_automation.flows.workspace import FoundWorkspace
from services.catalog.flow_reader import read_flow
from services.catalog.model.builds import Inspection, RejectedArtifact
from services.catalog.model.tests import ReadFlow, Step
from services.catalog.workspace_reader import answer, parse_answer, read_file, workspace_request


class FakeWorkspaceReader:
    """Reads workspaces in this process."""

    async def read(self, path: Path, *, sentences: bool = False) -> FoundWorkspace:
        return parse_answer(answer(workspace_request(path, sentences=sentences)))

    async def read_file(self, path: Path, name: str) -> bytes:
        return read_file(os.fsdecode(path), name)


class FakeFlowReader:
    """Reads flows in this process."""

    async def read(self, source: str | Sequence[Step], files: Files = NO_FILES, path: str = "") -> ReadFlow:
        return read_flow(source, files, path)


@dataclass
class FakeInspector:
    """Finds the same in every artifact."""

    found: Inspection | RejectedArtifact = field(default_factory=Inspection)

    async def inspect(self, path: Path) -> Inspection | RejectedArtifact:
        return self.found
