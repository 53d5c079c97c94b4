"""Finding since when tests fail, and whether they fail on the base branch, in a few lookups for any number of tests."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from services.chassis.turns import in_turns
from services.reporting.model.attempts import Attempt
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
    BreakageReader,
    BuildVerdict,
    PassQuery,
    SearchSide,
    VerdictQuery,
    base_scope,
    build_ids,
    find_break,
    newer_pass,
    pass_query,
)
from services.reporting.model.tables import CellKey, HistoryKey
from services.reporting.ports import ReadModels, Verdicts

BuildVerdicts = Mapping[CellKey, BuildVerdict]
HISTORIES_AT_ONCE = 1000
"""Histories are large, and thousands of tests may fail on the base branch too."""


class Breakages:
    """Finds the builds around the break of each failing test."""

    def __init__(self, read_models: ReadModels, verdicts: Verdicts) -> None:
        self._read = read_models
        self._verdicts = verdicts

    async def of(
        self, failing: Iterable[BuildVerdict], scopes: BranchScopes, *, storms: bool = False
    ) -> dict[CellKey, Breakage]:
        """By cell, since when each of these tests fails. Failures in storms count only with `storms`."""
        breaks = await self._find_breaks({verdict.key: verdict for verdict in failing}, scopes, storms=storms)
        reader = BreakageReader(await self._read.builds_by_id(build_ids(breaks.values())))
        return {key: reader.read(found) async for key, found in in_turns(breaks.items())}

    async def _find_breaks(self, failing: BuildVerdicts, scopes: BranchScopes, *, storms: bool) -> dict[CellKey, Break]:
        """Tests that never passed in their own scope are searched in the wider one, from their first failure on."""
        own = await self._find_in(scopes.own, failing, storms=storms)
        if scopes.wider == scopes.own:
            return own
        firsts = {key: found.first_failing for key, found in own.items() if found.last_passing is None}
        wider = await self._find_in(scopes.wider, {first.key: first for first in firsts.values()}, storms=storms)
        return own | {key: wider[first.key] for key, first in firsts.items()}

    async def _find_in(self, branches: Branches, failing: BuildVerdicts, *, storms: bool) -> dict[CellKey, Break]:
        """The last pass before each failure, then the first failure after that pass, or of all without a pass."""
        find = self._verdicts.find
        uploads = _uploads(failing.values())
        passing = await find(uploads.keys(), VerdictQuery(SearchSide.BEFORE, PASSED, branches), uploads)
        passed = _uploads(passing.values())
        after, never_passed = await asyncio.gather(
            find(passed.keys(), VerdictQuery(SearchSide.AFTER, FAILED, branches, storms), passed),
            find(failing.keys() - passing.keys(), VerdictQuery(SearchSide.FIRST, FAILED, branches, storms), uploads),
        )
        after_pass = {key: after[verdict.key] for key, verdict in passing.items() if verdict.key in after}
        first_failing = {**never_passed, **after_pass}
        return {
            key: find_break(own, passing.get(key), first_failing.get(key))
            async for key, own in in_turns(failing.items())
        }


class BaseBranch:
    """Finds how failing tests do on the base branch."""

    def __init__(self, verdicts: Verdicts) -> None:
        self._verdicts = verdicts

    async def of(
        self, failing: BuildVerdicts, own: str | None, base: str, *, storms: bool
    ) -> dict[CellKey, BaseBranchStatus]:
        """By cell, for failures of an execution on branch `own`. Failures in storms count only with `storms`."""
        scope = base_scope(own, base)
        found = await self._find_in(scope, failing, storms=storms)
        statuses = {key: BaseBranchStatus(verdict) async for key, verdict in in_turns(found.items())}
        fails = sorted(key for key, verdict in found.items() if verdict.fails)
        for start in range(0, len(fails), HISTORIES_AT_ONCE):
            part = fails[start : start + HISTORIES_AT_ONCE]
            attempts = await self._with_pass(part, found, scope)
            async for key in in_turns(key for key in part if key[:2] in attempts):
                passed = newer_pass(attempts[key[:2]], found[key], failing[key], scope, storms=storms)
                statuses[key] = BaseBranchStatus(found[key], passed)
        return statuses

    async def _with_pass(
        self, keys: Iterable[CellKey], found: BuildVerdicts, scope: BaseScope
    ) -> Mapping[HistoryKey, Sequence[Attempt]]:
        """The attempts of those tests for which some pass may outweigh what was found."""
        passes: dict[HistoryKey, PassQuery] = {}
        for key in keys:
            sought, test = pass_query(found[key], scope), key[:2]
            passes[test] = sought.wider(passes[test]) if test in passes else sought
        return await self._verdicts.attempts(passes.keys(), passes)

    async def _find_in(self, scope: BaseScope, failing: BuildVerdicts, *, storms: bool) -> dict[CellKey, BuildVerdict]:
        """The further scopes are for tests without any verdict in the first, in a storm or not."""
        find, uploads = self._verdicts.find, _uploads(failing.values())
        first, *others = scope.scopes
        found = dict(await find(failing.keys(), VerdictQuery(scope.side, ANY, first, storms), uploads))
        for branches in others:
            missing = failing.keys() - found.keys()
            if missing and not storms:
                stormy = VerdictQuery(scope.side, ANY, first, storms=True)
                missing -= (await find(missing, stormy, uploads)).keys()
            found |= await find(missing, VerdictQuery(scope.side, ANY, branches, storms), uploads)
        return found


def _uploads(verdicts: Iterable[BuildVerdict]) -> dict[CellKey, datetime]:
    return {verdict.key: verdict.uploaded_at for verdict in verdicts}
