"""Lists of runs. The counters of a list tell where a page begins, so that nothing before it is read."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from services.reporting.model import counters
from services.reporting.model.list_positions import minutes_counter, position_by_day, position_by_minute
from services.reporting.ports import ReadModels, RowPage

Lookup = Callable[[str, RowPage], Awaitable[Sequence[bytes]]]


@dataclass(frozen=True, slots=True)
class RunsPage:
    """Runs, each as lists show it (a serialised BuildRunItem), and how many there are on all pages."""

    items: Sequence[bytes]
    total: int


class RunLists:
    """The runs of the caller's organisation, newest first; without expired runs."""

    def __init__(self, read_models: ReadModels) -> None:
        self._read = read_models

    async def of_build(self, build_id: str, page: RowPage) -> RunsPage:
        """The runs resolved to a build; none for a build that is not known."""
        return await self._page(counters.build(build_id), build_id, page, self._read.runs_of_build)

    async def of_test(self, test_id: str, page: RowPage) -> RunsPage:
        """The runs of a test; none for a test that is not known."""
        return await self._page(counters.test(test_id), test_id, page, self._read.runs_of_test)

    async def _page(self, counter: str, key: str, page: RowPage, runs: Lookup) -> RunsPage:
        if page.skip:
            fields = (await self._read.counters([counter])).get(counter, {})
            located = await self._locate(counter, fields, page)
            return RunsPage(await runs(key, located) if located else [], fields.get("listed", 0))
        items, counted = await asyncio.gather(runs(key, page), self._read.counters([counter], ["listed"]))
        return RunsPage(items, counted.get(counter, {}).get("listed", 0))

    async def _locate(self, counter: str, fields: Mapping[str, int], page: RowPage) -> RowPage | None:
        """The same page, counted from the minute in which it begins; None when there is no such page."""
        position = position_by_day(fields, page.skip)
        if position is None:
            return None
        minutes = minutes_counter(counter, position.day)
        position = position_by_minute(position, (await self._read.counters([minutes])).get(minutes, {}))
        return replace(page, skip=position.skip, before=position.before)
