"""Imports of workspaces: what an import did with the flows of a folder."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from mobiletest_automation.flows.workspace import FoundWorkspace, WorkspaceFlow
from mobiletest_automation.flows.workspace_config import Remark
from services.catalog.model.tests import Test

# Tests of one transaction: with their steps, and with those that they had before, at most 32 MiB.
BATCH = 16
MISSING_LIMIT = 2_000


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import has done, each list by path; with `dry_run` what it would do: nothing is stored."""

    workspace: str
    dry_run: bool
    found: FoundWorkspace
    created: tuple[Test, ...] = ()
    changed: tuple[Test, ...] = ()
    unchanged: tuple[Test, ...] = ()
    refused: tuple[tuple[str, tuple[Remark, ...]], ...] = ()
    missing: tuple[Test, ...] = ()
    notices: tuple[Remark, ...] = ()


Flows: TypeAlias = Sequence[WorkspaceFlow]


def batches(flows: Iterable[WorkspaceFlow]) -> Iterable[Flows]:
    """The flows in groups, one for each transaction."""
    left = iter(flows)
    while batch := tuple(islice(left, BATCH)):
        yield batch
