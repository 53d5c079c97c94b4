"""Ports for reading what clients send without trusting it: artifacts, the steps of tests, and workspaces."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from mobiletest_automation.flows.loader import NO_FILES, Files
from mobiletest_automation.flows.workspace import FoundWorkspace
from services.catalog.model.builds import Inspection, RejectedArtifact
from services.catalog.model.tests import ReadFlow, Step


class Inspector(Protocol):
    """Looks into artifacts without trusting them."""

    async def inspect(self, path: Path) -> Inspection | RejectedArtifact:
        """What the artifact says of itself; never raises for what the artifact is."""


class FlowReader(Protocol):
    """Reads the steps of tests."""

    async def read(self, source: str | Sequence[Step], files: Files = NO_FILES, path: str = "") -> ReadFlow:
        """The flow in a Maestro file's text, with the files that it runs, or in a list of steps.

        `path` is that of the flow in its workspace, from whose root the files are named then.

        Raises:
            InvalidValue: it takes too much.
            ResourceExhausted: too many wait.
            Unavailable: too many wait.
        """


class WorkspaceReader(Protocol):
    """Reads the workspaces that are imported."""

    async def read(self, path: Path, *, sentences: bool = False) -> FoundWorkspace:
        """The workspace in a zip archive; with the `sentences` that no rule parses, which takes longer.

        Raises:
            InvalidValue: the archive or its config.yaml is not accepted, or takes too much.
            ResourceExhausted: too many wait.
            Unavailable: too many wait.
        """

    async def read_file(self, path: Path, name: str) -> bytes:
        """A picture or video of the workspace in a zip archive that has been read. Errors as those of `read`."""
