"""Since when tests fail: a handful of lookups for any number of tests."""

import asyncio
from collections.abc import Iterable, Mapping

from services.reporting.model.reports.breakage import (
    FAILED,
    PASSED,
    Branches,
    Break,
    Breakage,
    Lines,
    Side,
    Sighting,
    Sought,
    breakage,
    broken,
    build_ids,
)
from services.reporting.model.tables import CellKey
from services.reporting.ports import ReadModels, Verdicts


class Breakages:
    """Finds the builds around the break of each failing test."""

    def __init__(self, read_models: ReadModels, verdicts: Verdicts) -> None:
        self._read = read_models
        self._verdicts = verdicts

    async def of(self, failing: Iterable[Sighting], where: Lines, *, storms: bool = False) -> dict[CellKey, Breakage]:
        """By cell, since when each of these fails. What failed in a storm counts only with `storms`."""
        breaks = await self._breaks({seen.key: seen for seen in failing}, where, storms=storms)
        builds = await self._read.builds_by_id(build_ids(breaks.values()))
        return {key: breakage(found, builds) for key, found in breaks.items()}

    async def _breaks(self, failing: Mapping[CellKey, Sighting], where: Lines, *, storms: bool) -> dict[CellKey, Break]:
        """Those that never passed on their own line are looked for on the wider one, from where they failed first."""
        own = await self._on(failing, where.own, storms=storms)
        if where.wider == where.own:
            return own
        firsts = {key: found.first_failing for key, found in own.items() if found.last_passing is None}
        wider = await self._on({seen.key: seen for seen in firsts.values()}, where.wider, storms=storms)
        return own | {key: wider[first.key] for key, first in firsts.items()}

    async def _on(self, failing: Mapping[CellKey, Sighting], line: Branches, *, storms: bool) -> dict[CellKey, Break]:
        """The last pass before each, then the first failure after that, or of all where there was no pass."""
        passing = await self._verdicts.sightings(failing.keys(), Sought(Side.BEFORE, PASSED, line))
        since = {seen.key for seen in passing.values()}
        after, never_passed = await asyncio.gather(
            self._verdicts.sightings(since, Sought(Side.AFTER, FAILED, line, storms)),
            self._verdicts.sightings(failing.keys() - passing.keys(), Sought(Side.FIRST, FAILED, line, storms)),
        )
        next_failing = dict(never_passed) | {key: after[seen.key] for key, seen in passing.items() if seen.key in after}
        return {key: broken(own, passing.get(key), next_failing.get(key)) for key, own in failing.items()}
