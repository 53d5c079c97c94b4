"""The workflows."""

from collections.abc import Sequence
from typing import Protocol

from services.catalog.model.pages import Page
from services.catalog.model.workflows import Workflow


class Workflows(Protocol):
    """The live workflows."""

    async def get(self, workflow_id: str) -> Workflow | None:
        """The workflow; None when it is unknown or deleted."""

    async def page(self, pattern: str | None, page: Page) -> Sequence[Workflow]:
        """One page of the workflows whose folded name the pattern finds, newest first, ids breaking ties."""

    async def count(self, pattern: str | None) -> int:
        """How many workflows fit."""

    async def add(self, workflow: Workflow) -> None:
        """Keep a new workflow. Taken: its id is in use."""

    async def replace(self, workflow: Workflow) -> None:
        """Keep a changed, perhaps deleted, workflow."""

    async def with_test(self, test_id: str) -> Sequence[Workflow]:
        """The workflows that list the test."""

    async def with_version(self, app_id: str, version: str) -> Sequence[Workflow]:
        """The workflows whose build_config names the version of the app."""
