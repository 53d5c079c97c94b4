"""Finding where a page begins, through the counters of its list: what precedes it is not gone through."""

from collections.abc import Mapping
from dataclasses import replace

from services.reporting.model import counters
from services.reporting.model.places import Place, minutes, place_by_day, place_by_minute
from services.reporting.ports import Page, ReadModels


async def page_of_runs(read: ReadModels, counter: str, fields: Mapping[str, int], page: Page) -> Page | None:
    """The same page of the list with this counter (and its fields), from the minute in which it begins.

    None: there is no such page.
    """
    place = place_by_day(fields, page.skip)
    if place is None:
        return None
    by_minute = minutes(counter, place.day)
    found = await read.counters([by_minute])
    return _from(place_by_minute(place, found.get(by_minute, {})), page)


async def page_of_builds(read: ReadModels, app_id: str, page: Page) -> Page | None:
    """The same page of an app's builds, from the day in which it begins; None: there is no such page."""
    if not page.skip:
        return page
    counter = counters.app_builds(app_id)
    place = place_by_day((await read.counters([counter])).get(counter, {}), page.skip)
    return _from(place, page) if place else None


def _from(place: Place, page: Page) -> Page:
    return replace(page, skip=place.skip, before=place.before)
