"""Lists of runs."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from services.reporting.model import counters
from services.reporting.ports import Page, ReadModels


@dataclass(frozen=True, slots=True)
class RunsPage:
    """Runs, each as lists show it (a serialised BuildRunItem), and how many there are on all pages."""

    items: Sequence[bytes]
    total: int


class RunLists:
    """The runs of the caller's organisation, newest first."""

    def __init__(self, read_models: ReadModels) -> None:
        self._read = read_models

    async def of_build(self, build_id: str, page: Page) -> RunsPage:
        """The runs resolved to a build; none for a build that is not known."""
        name = counters.build(build_id)
        items, fields = await asyncio.gather(self._read.runs_of_build(build_id, page), self._read.counters([name]))
        return RunsPage(items, fields.get(name, {}).get("runs", 0))

    async def of_test(self, test_id: str, page: Page) -> RunsPage:
        """The runs of a test; none for a test that is not known."""
        name = counters.test(test_id)
        items, fields = await asyncio.gather(self._read.runs_of_test(test_id, page), self._read.counters([name]))
        return RunsPage(items, fields.get(name, {}).get("runs", 0))
