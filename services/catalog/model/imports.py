"""Imports of workspaces: what a folder of flows has, and what an import did with it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from services.catalog.model.tests import Test
from services.flows.workspace_config import Remark
from services.flows.workspace_media import MediaFile

ARCHIVE_BYTES = 64 * 1024**2
"""The size of the archive of one workspace."""
BATCH = 16
"""Tests of one transaction: with their steps, and with those that they had before, at most 32 MiB."""
MISSING_LIMIT = 2_000


@dataclass(frozen=True, slots=True)
class FoundFlow:
    """A flow of a workspace, its steps as JSON text, with the `files` that they need; or its problems."""

    path: str
    name: str
    tags: tuple[str, ...]
    steps: str
    files: tuple[MediaFile, ...] = ()
    problems: tuple[Remark, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundWorkspace:
    """The selected flows of a workspace, by path; `order` are the paths of those that run first."""

    flows: Sequence[FoundFlow]
    notices: tuple[Remark, ...] = ()
    order: tuple[str, ...] = ()
    continue_on_failure: bool = True


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


Flows: TypeAlias = Sequence[FoundFlow]


def batches(flows: Iterable[FoundFlow]) -> Iterable[Flows]:
    """The flows in groups, one for each transaction."""
    left = iter(flows)
    while batch := tuple(islice(left, BATCH)):
        yield batch
