"""The health of many apps: summaries that are computed again only when something of the app has changed."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from services.chassis.errors import NotFound
from services.chassis.turns import sorted_in_turns
from services.reporting.model import counters
from services.reporting.model.reports.app_health import (
    AppHealth,
    AppOrder,
    HealthCounts,
    count_tests,
    health_order,
    run_order,
)
from services.reporting.model.reports.apps import BUILDS_SHOWN
from services.reporting.model.reports.compare import Comparison
from services.reporting.model.snapshots import BuildSnapshot
from services.reporting.model.sources import BranchRow, all_runs_key
from services.reporting.ports import RowPage, StoredHealth
from services.reporting.usecases.compare import Comparisons
from services.reporting.usecases.report_sources import ReportSources

# How long one read computes summaries; the apps that are left count as unknown, and the next read goes on.
COMPUTING_SECONDS = 4.0
_CHANGES = ("ended", "changes", "storms")


@dataclass(frozen=True, slots=True)
class HealthPage:
    """The apps on a page, and how many of all have no summary of their present version yet."""

    items: Sequence[AppHealth]
    pending: int


class AppHealths:
    """The health of apps of the caller's organisation."""

    def __init__(self, sources: ReportSources, seconds: float = COMPUTING_SECONDS) -> None:
        self._read = sources.read_models
        self._summaries = sources.summaries
        self._comparisons = Comparisons(sources)
        self._clock = sources.clock
        self._seconds = seconds

    async def list(self, app_ids: Collection[str], page: RowPage, order: AppOrder = AppOrder.HEALTH) -> HealthPage:
        """A page of these apps, which are given by name."""
        versions, stored = await self._versions(app_ids), await self._summaries.find(app_ids)
        known = {key: one.health for key, one in stored.items() if one.version == versions[key]}
        until = self._clock.monotonic() + self._seconds
        pending = [app_id for app_id in versions if app_id not in known]
        while pending and self._clock.monotonic() < until:
            app_id = pending.pop()
            known[app_id] = await self._refresh(app_id, versions[app_id])
        healths = [known.get(app_id) or AppHealth(app_id) for app_id in versions]
        keys = {AppOrder.HEALTH: health_order, AppOrder.LAST_RUN: run_order}
        ordered = await sorted_in_turns(healths, key=keys[order]) if order in keys else healths
        return HealthPage(ordered[page.skip : page.skip + page.limit], len(pending))

    async def _versions(self, app_ids: Collection[str]) -> dict[str, str]:
        """By app, what changes whenever its health could: all of it is added up by the fold."""
        names = {app_id: counters.app_all(app_id) for app_id in app_ids}
        counts = await self._read.counters([*names.values(), counters.ORG_TESTS], [*_CHANGES, "deleted"])
        deleted = counts.get(counters.ORG_TESTS, {}).get("deleted", 0)
        return {app_id: _version(counts.get(name, {}), deleted) for app_id, name in names.items()}

    async def _refresh(self, app_id: str, version: str) -> AppHealth:
        """Compute the health; it is stored only if nothing has changed meanwhile."""
        health = await self._compute(app_id)
        if (await self._versions([app_id]))[app_id] == version:
            await self._summaries.save(StoredHealth(version, health))
        return health

    async def _compute(self, app_id: str) -> AppHealth:
        key = all_runs_key(app_id)
        row = (await self._read.branches_by_key([key])).get(key)
        build = await self._newest_with_verdict(app_id, row)
        comparison = await self._compare(build) if build else None
        last = row.last_run if row else None
        return AppHealth(
            app_id,
            comparison.build if comparison else None,
            count_tests(comparison) if comparison else HealthCounts(),
            last_run_at=last.ended_at if last else None,
            last_execution_id=last.execution_id if last else None,
            last_outcome=last.outcome if last else None,
        )

    async def _newest_with_verdict(self, app_id: str, row: BranchRow | None) -> BuildSnapshot | None:
        """Of the newest builds on which runs ended; where none of these has one, of the newest ones."""
        ids = [build.build_id for build in row.builds] if row is not None else []
        known = await self._read.builds_by_id(ids)
        builds = [known[build_id] for build_id in ids if build_id in known and not known[build_id].deleted]
        if tested := await self._first_with_verdict(builds):
            return tested
        return await self._first_with_verdict(await self._read.builds(app_id, RowPage(0, BUILDS_SHOWN)))

    async def _first_with_verdict(self, builds: Sequence[BuildSnapshot]) -> BuildSnapshot | None:
        names = [counters.build(build.build_id) for build in builds]
        runs = await self._read.counters(names, ["passed", "failed"])
        return next((build for build in builds if any(runs.get(counters.build(build.build_id), {}).values())), None)

    async def _compare(self, build: BuildSnapshot) -> Comparison | None:
        """With the default base; the first build of an app with itself: all that fails there is known."""
        for base in (None, build.build_id):
            with suppress(NotFound):  # there is no earlier build; then: it was deleted meanwhile
                return await self._comparisons.compare(build.build_id, base)
        return None


def _version(counts: Mapping[str, int], deleted: int) -> str:
    return "-".join(str(number) for number in (*(counts.get(name, 0) for name in _CHANGES), deleted))
