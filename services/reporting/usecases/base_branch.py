"""What is known on the base branch of tests that failed: a handful of lookups for any number of them."""

from collections.abc import Mapping

from services.reporting.model.reports.base_branch import BaseLines, OnBase, base_lines, passed_since
from services.reporting.model.reports.breakage import ANY, Sighting, Sought
from services.reporting.model.tables import CellKey
from services.reporting.ports import Verdicts

Sightings = dict[CellKey, Sighting]
HISTORIES_AT_ONCE = 200
"""A history has up to 200 attempts, and thousands of tests may fail on the base branch too."""


class BaseBranch:
    """Looks up how tests stand on the base branch."""

    def __init__(self, verdicts: Verdicts) -> None:
        self._verdicts = verdicts

    async def of(
        self, failing: Mapping[CellKey, Sighting], own: str | None, base: str, *, storms: bool
    ) -> dict[CellKey, OnBase]:
        """By cell, for failures of an execution on branch `own`. Failures in storms count only with `storms`."""
        where = base_lines(own, base)
        found = await self._found(failing, where, storms=storms)
        known = {key: OnBase(seen) for key, seen in found.items()}
        fails = sorted(key for key, seen in found.items() if seen.fails)
        for start in range(0, len(fails), HISTORIES_AT_ONCE):
            part = fails[start : start + HISTORIES_AT_ONCE]
            attempts = await self._verdicts.attempts({key[:2] for key in part})
            for key in part:
                passed = passed_since(attempts.get(key[:2], ()), found[key], failing[key], where, storms=storms)
                known[key] = OnBase(found[key], passed)
        return known

    async def _found(self, failing: Mapping[CellKey, Sighting], where: BaseLines, *, storms: bool) -> Sightings:
        """The second line is for tests without any verdict on the first, in a storm or not."""
        first, *others = where.lines
        found: Sightings = dict(await self._verdicts.sightings(failing.keys(), Sought(where.side, ANY, first, storms)))
        for line in others:
            missing = failing.keys() - found.keys()
            if missing and not storms:
                hidden = await self._verdicts.sightings(missing, Sought(where.side, ANY, first, storms=True))
                missing -= hidden.keys()
            found |= await self._verdicts.sightings(missing, Sought(where.side, ANY, line, storms))
        return found
