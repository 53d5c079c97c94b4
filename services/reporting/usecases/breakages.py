"""Since when tests fail: a handful of lookups for any number of tests."""

import asyncio
from collections.abc import Iterable, Mapping

from services.reporting.model.reports.breakage import (
    ANY,
    FAILED,
    PASSED,
    BaseBranchStatus,
    BaseScope,
    Branches,
    BranchScopes,
    Break,
    Breakage,
    BuildVerdict,
    SearchSide,
    VerdictQuery,
    base_scope,
    breakage,
    build_ids,
    find_break,
    newer_pass,
)
from services.reporting.model.tables import CellKey
from services.reporting.ports import ReadModels, Verdicts


class Breakages:
    """Finds the builds around the break of each failing test."""

    def __init__(self, read_models: ReadModels, verdicts: Verdicts) -> None:
        self._read = read_models
        self._verdicts = verdicts

    async def of(
        self, failing: Iterable[BuildVerdict], where: BranchScopes, *, storms: bool = False
    ) -> dict[CellKey, Breakage]:
        """By cell, since when each of these fails. What failed in a storm counts only with `storms`."""
        breaks = await self._breaks({seen.key: seen for seen in failing}, where, storms=storms)
        builds = await self._read.builds_by_id(build_ids(breaks.values()))
        return {key: breakage(found, builds) for key, found in breaks.items()}

    async def _breaks(
        self, failing: Mapping[CellKey, BuildVerdict], where: BranchScopes, *, storms: bool
    ) -> dict[CellKey, Break]:
        """Those that never passed on their own line are looked for on the wider one, from where they failed first."""
        own = await self._on(failing, where.own, storms=storms)
        if where.wider == where.own:
            return own
        firsts = {key: found.first_failing for key, found in own.items() if found.last_passing is None}
        wider = await self._on({seen.key: seen for seen in firsts.values()}, where.wider, storms=storms)
        return own | {key: wider[first.key] for key, first in firsts.items()}

    async def _on(
        self, failing: Mapping[CellKey, BuildVerdict], line: Branches, *, storms: bool
    ) -> dict[CellKey, Break]:
        """The last pass before each, then the first failure after that, or of all where there was no pass."""
        passing = await self._verdicts.sightings(failing.keys(), VerdictQuery(SearchSide.BEFORE, PASSED, line))
        since = {seen.key for seen in passing.values()}
        after, never_passed = await asyncio.gather(
            self._verdicts.sightings(since, VerdictQuery(SearchSide.AFTER, FAILED, line, storms)),
            self._verdicts.sightings(
                failing.keys() - passing.keys(), VerdictQuery(SearchSide.FIRST, FAILED, line, storms)
            ),
        )
        next_failing = dict(never_passed) | {key: after[seen.key] for key, seen in passing.items() if seen.key in after}
        return {key: find_break(own, passing.get(key), next_failing.get(key)) for key, own in failing.items()}


Sightings = dict[CellKey, BuildVerdict]
HISTORIES_AT_ONCE = 200
"""A history has up to 200 attempts, and thousands of tests may fail on the base branch too."""


class BaseBranch:
    """Looks up how tests stand on the base branch."""

    def __init__(self, verdicts: Verdicts) -> None:
        self._verdicts = verdicts

    async def of(
        self, failing: Mapping[CellKey, BuildVerdict], own: str | None, base: str, *, storms: bool
    ) -> dict[CellKey, BaseBranchStatus]:
        """By cell, for failures of an execution on branch `own`. Failures in storms count only with `storms`."""
        where = base_scope(own, base)
        found = await self._found(failing, where, storms=storms)
        known = {key: BaseBranchStatus(seen) for key, seen in found.items()}
        fails = sorted(key for key, seen in found.items() if seen.fails)
        for start in range(0, len(fails), HISTORIES_AT_ONCE):
            part = fails[start : start + HISTORIES_AT_ONCE]
            attempts = await self._verdicts.attempts({key[:2] for key in part})
            for key in part:
                passed = newer_pass(attempts.get(key[:2], ()), found[key], failing[key], where, storms=storms)
                known[key] = BaseBranchStatus(found[key], passed)
        return known

    async def _found(self, failing: Mapping[CellKey, BuildVerdict], where: BaseScope, *, storms: bool) -> Sightings:
        """The second line is for tests without any verdict on the first, in a storm or not."""
        first, *others = where.lines
        found: Sightings = dict(
            await self._verdicts.sightings(failing.keys(), VerdictQuery(where.side, ANY, first, storms))
        )
        for line in others:
            missing = failing.keys() - found.keys()
            if missing and not storms:
                hidden = await self._verdicts.sightings(missing, VerdictQuery(where.side, ANY, first, storms=True))
                missing -= hidden.keys()
            found |= await self._verdicts.sightings(missing, VerdictQuery(where.side, ANY, line, storms))
        return found
