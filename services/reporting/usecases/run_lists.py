"""Finding where a page begins, through the counters of its list: what precedes it is not gone through."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from services.reporting.model import counters
from services.reporting.model.list_positions import ListPosition, minutes, position_by_day, position_by_minute
from services.reporting.ports import Page, ReadModels


async def page_of_runs(read: ReadModels, counter: str, fields: Mapping[str, int], page: Page) -> Page | None:
    """The same page of the list with this counter (and its fields), from the minute in which it begins.

    None: there is no such page.
    """
    place = position_by_day(fields, page.skip)
    if place is None:
        return None
    by_minute = minutes(counter, place.day)
    found = await read.counters([by_minute])
    return _from(position_by_minute(place, found.get(by_minute, {})), page)


async def page_of_builds(read: ReadModels, app_id: str, page: Page) -> Page | None:
    """The same page of an app's builds, from the day in which it begins; None: there is no such page."""
    if not page.skip:
        return page
    counter = counters.app_builds(app_id)
    place = position_by_day((await read.counters([counter])).get(counter, {}), page.skip)
    return _from(place, page) if place else None


def _from(place: ListPosition, page: Page) -> Page:
    return replace(page, skip=place.skip, before=place.before)


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
