"""Lists of runs."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from services.reporting.model import counters
from services.reporting.ports import Page, ReadModels
from services.reporting.usecases.pages import page_of_runs

Lookup = Callable[[str, Page], Awaitable[Sequence[bytes]]]


@dataclass(frozen=True, slots=True)
class RunsPage:
    """Runs, each as lists show it (a serialised BuildRunItem), and how many there are on all pages."""

    items: Sequence[bytes]
    total: int


class RunLists:
    """The runs of the caller's organisation, newest first; without those that expired."""

    def __init__(self, read_models: ReadModels) -> None:
        self._read = read_models

    async def of_build(self, build_id: str, page: Page) -> RunsPage:
        """The runs resolved to a build; none for a build that is not known."""
        return await self._page(counters.build(build_id), build_id, page, self._read.runs_of_build)

    async def of_test(self, test_id: str, page: Page) -> RunsPage:
        """The runs of a test; none for a test that is not known."""
        return await self._page(counters.test(test_id), test_id, page, self._read.runs_of_test)

    async def _page(self, counter: str, key: str, page: Page, runs: Lookup) -> RunsPage:
        if page.skip:
            fields = await self._read.counters([counter])
            found = await page_of_runs(self._read, counter, fields.get(counter, {}), page)
            items = await runs(key, found) if found else []
        else:
            items, fields = await asyncio.gather(runs(key, page), self._read.counters([counter], ["listed"]))
        return RunsPage(items, fields.get(counter, {}).get("listed", 0))
