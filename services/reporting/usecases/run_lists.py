"""Lists of runs. The counters of a list tell where a page begins, so that nothing before it is read.

Runs with one result are not counted beforehand: what a page of them and their number cost grows with how many they are,
but only keys of an index are read.
"""

import asyncio
from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from services.reporting.model import counters
from services.reporting.model.list_positions import minutes_counter, position_by_day, position_by_minute
from services.reporting.model.snapshots import RunResult
from services.reporting.ports import ReadModels, RowPage


class Lookup(Protocol):
    """`ReadModels.runs_of_build` or `runs_of_test`."""

    def __call__(self, key: str, page: RowPage, results: Collection[RunResult] = (), /) -> Awaitable[Sequence[bytes]]:
        """See there."""


class Count(Protocol):
    """`ReadModels.count_results_of_build` or `count_results_of_test`."""

    def __call__(self, key: str, results: Collection[RunResult], /) -> Awaitable[int]:
        """See there."""


@dataclass(frozen=True, slots=True)
class RunsPage:
    """Runs, each as lists show it (a serialised BuildRunItem), and how many there are on all pages."""

    items: Sequence[bytes]
    total: int


class RunLists:
    """The runs of the caller's organisation, newest first; without expired runs.

    Those with a result, if one is given: runs that passed include flaky ones, and runs that have not ended have none.
    """

    def __init__(self, read_models: ReadModels) -> None:
        self._read = read_models

    async def of_build(self, build_id: str, page: RowPage, result: RunResult | None = None) -> RunsPage:
        """The runs resolved to a build; none for a build that is not known."""
        if result is not None:
            return await _filtered(build_id, page, result, self._read.runs_of_build, self._read.count_results_of_build)
        return await self._page(counters.build(build_id), build_id, page, self._read.runs_of_build)

    async def of_test(self, test_id: str, page: RowPage, result: RunResult | None = None) -> RunsPage:
        """The runs of a test; none for a test that is not known."""
        if result is not None:
            return await _filtered(test_id, page, result, self._read.runs_of_test, self._read.count_results_of_test)
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


async def _filtered(key: str, page: RowPage, result: RunResult, runs: Lookup, count: Count) -> RunsPage:
    results = (result, RunResult.FLAKY) if result is RunResult.PASSED else (result,)
    total = await count(key, results)
    return RunsPage(await runs(key, page, results) if page.skip < total else [], total)
