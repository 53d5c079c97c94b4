"""Finding since when tests fail, and whether they fail on the base branch, in a few lookups for any number of tests."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import datetime

from services.chassis.turns import in_turns
from services.reporting.model.attempts import Attempt
from services.reporting.model.reports.breakage import (
    ANY,
    FAILED,
    PASSED,
    AttemptQuery,
    BaseBranchStatus,
    BaseScope,
    Branches,
    BranchScopes,
    Break,
    Breakage,
    BreakageReader,
    BuildVerdict,
    SearchSide,
    VerdictQuery,
    base_scope,
    build_ids,
    find_break,
    newer_pass,
    status_from_attempts,
)
from services.reporting.model.tables import CellKey, HistoryKey
from services.reporting.ports import ReadModels, Verdicts

BuildVerdicts = Mapping[CellKey, BuildVerdict]
# Histories are large, and thousands of tests may fail on the base branch too.
HISTORIES_AT_ONCE = 1000


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
        return {key: reader.read(broken) async for key, broken in in_turns(breaks.items())}

    async def _find_breaks(self, failing: BuildVerdicts, scopes: BranchScopes, *, storms: bool) -> dict[CellKey, Break]:
        """Tests that never passed in their own scope are searched in the wider one, from their first failure on."""
        own = await self._find_in(scopes.own, failing, storms=storms)
        if scopes.wider == scopes.own:
            return own
        firsts = {key: broken.first_failing for key, broken in own.items() if broken.last_passing is None}
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
        """By cell, for failures of runs on branch `own`. Failures in storms count only with `storms`."""
        scope, uploads = base_scope(own, base), _uploads(failing.values())
        on_base = await self._verdicts.find(uploads.keys(), VerdictQuery(scope.side, ANY, (base,), storms), uploads)
        known = {key: BaseBranchStatus(verdict, ran=True) async for key, verdict in in_turns(on_base.items())}
        outweighed = await self._outweighed(
            {key: one for key, one in on_base.items() if one.fails}, failing, scope, storms
        )
        missing = {key: verdict for key, verdict in failing.items() if key not in on_base}
        return known | outweighed | await self._without_verdict(missing, scope)

    async def _outweighed(
        self, fails: BuildVerdicts, failing: BuildVerdicts, scope: BaseScope, storms: bool
    ) -> dict[CellKey, BaseBranchStatus]:
        """Those of the failures on the base branch that a pass there outweighs."""
        sought = {key: AttemptQuery(scope.base, verdict.build_order) for key, verdict in fails.items()}
        statuses: dict[CellKey, BaseBranchStatus] = {}
        async for key, attempts in self._attempts(sought):
            passed = newer_pass(attempts, fails[key], failing[key], scope, storms=storms)
            statuses[key] = BaseBranchStatus(fails[key], passed, ran=True)
        return statuses

    async def _without_verdict(self, failing: BuildVerdicts, scope: BaseScope) -> dict[CellKey, BaseBranchStatus]:
        """Whether tests whose only verdicts on the base branch are of storms, or on the build itself, passed there."""
        find, uploads = self._verdicts.find, _uploads(failing.values())
        ran = await find(uploads.keys(), VerdictQuery(scope.side, ANY, (scope.base,), storms=True), uploads)
        passing = await find(ran.keys(), VerdictQuery(scope.side, PASSED, (scope.base,)), uploads)
        statuses = {key: BaseBranchStatus(verdict, ran=True) for key, verdict in passing.items()}
        statuses |= {key: BaseBranchStatus(ran=True) for key in ran.keys() - passing.keys()}
        sought = {key: AttemptQuery(scope.base, only_passed=False) for key in failing.keys() - passing.keys()}
        async for key, attempts in self._attempts(sought):
            statuses[key] = status_from_attempts(attempts, failing[key], scope, ran=key in ran)
        return statuses

    async def _attempts(
        self, sought: Mapping[CellKey, AttemptQuery]
    ) -> AsyncIterator[tuple[CellKey, Sequence[Attempt]]]:
        """The attempts of those tests for which the query finds any, a thousand histories at a time."""
        keys = sorted(sought)
        for start in range(0, len(keys), HISTORIES_AT_ONCE):
            part = keys[start : start + HISTORIES_AT_ONCE]
            queries: dict[HistoryKey, AttemptQuery] = {}
            for key in part:
                other = queries.get(key[:2])
                queries[key[:2]] = sought[key].wider(other) if other else sought[key]
            attempts = await self._verdicts.attempts(queries.keys(), queries)
            async for key in in_turns(key for key in part if key[:2] in attempts):
                yield key, attempts[key[:2]]


def _uploads(verdicts: Iterable[BuildVerdict]) -> dict[CellKey, datetime]:
    return {verdict.key: verdict.uploaded_at for verdict in verdicts}
