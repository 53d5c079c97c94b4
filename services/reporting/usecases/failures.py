"""Groups of failures: lists of them over all apps, and each as an object."""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from services.chassis.errors import NotFound
from services.chassis.turns import pause
from services.reporting.model.app_failures import AppFailure
from services.reporting.model.reports.failures import (
    FailureReport,
    ListedFailure,
    count_by_build,
    count_by_test,
    count_by_variant,
    is_reopened,
)
from services.reporting.model.snapshots import BuildSnapshot
from services.reporting.model.tables import FailureKey
from services.reporting.model.triages import FailureState, TriageSnapshot
from services.reporting.ports import FailureFilter, RowPage
from services.reporting.usecases.report_sources import KnownApps, ReportSources

# Pairs of a test, in its variant, and a build, of which those that were seen last are counted.
GROUPS_COUNTED = 1000


@dataclass(frozen=True, slots=True)
class FailuresPage:
    """Failures, how many match, and when the last one was seen that was searched (None: all were)."""

    failures: Sequence[ListedFailure] = ()
    total: int = 0
    searched_until: datetime | None = None


class FailureReports:
    """The failures of the caller's organisation, by fingerprint."""

    def __init__(self, sources: ReportSources) -> None:
        self._turns = sources.turns
        self._read = sources.read_models
        self._failures = sources.failures
        self._known = KnownApps(sources)

    async def page(self, filter: FailureFilter, page: RowPage) -> FailuresPage:
        """Those that match, seen last first. Fixed ones that are reopened are open, too."""
        async with self._turns.take():
            reopened = await self._reopened() if filter.state is FailureState.OPEN else ()
            found = await self._failures.page(filter, page, reopened)
            return FailuresPage(await self._listed(found.items), found.total, found.searched_until)

    async def get(self, key: FailureKey, min_revision: int | None = None) -> FailureReport:
        """One of them, with the tests, builds and variants that have it.

        `min_revision` waits (bounded) until the copy of the app has that revision.

        Raises:
            NotFound: no such app, or nothing failed like that.
        """
        app = await self._known.get(key[0], min_revision)
        async with self._turns.take():
            failure = await self._failures.get(key)
            if failure is None or (app is not None and app.deleted):
                raise NotFound("Failure not found: no run of this app that is known has failed like that")
            return await self._report(key, failure)

    async def _report(self, key: FailureKey, failure: AppFailure) -> FailureReport:
        (listed,), groups = await asyncio.gather(
            self._listed([(key, failure)]), self._failures.groups(key, GROUPS_COUNTED + 1)
        )
        counted = groups[:GROUPS_COUNTED]
        tests, builds = count_by_test(counted), count_by_build(counted)
        await pause()
        known_tests, known_builds, variants = await asyncio.gather(
            self._read.tests_by_id(tests), self._read.builds_by_id(builds), self._read.variants(key[0], tests)
        )
        return FailureReport(
            listed,
            tests,
            builds,
            count_by_variant(counted, variants),
            known_tests,
            known_builds,
            counted_all=len(groups) <= GROUPS_COUNTED,
        )

    async def _listed(self, found: Sequence[tuple[FailureKey, AppFailure]]) -> list[ListedFailure]:
        keys = [key for key, _ in found]
        apps, triages = await asyncio.gather(
            self._read.apps_by_id({app_id for app_id, _ in keys}), self._failures.triages(keys)
        )
        fixes = await self._fixes(triages.values())
        return [
            ListedFailure(
                key,
                failure,
                apps[key[0]].name if key[0] in apps else "",
                triages.get(key),
                is_reopened(failure.newest_build, triages.get(key), fixes.get(key)),
            )
            for key, failure in found
        ]

    async def _reopened(self) -> Collection[FailureKey]:
        triages = {(each.app_id, each.fingerprint): each for each in await self._failures.fixed()}
        fixes = await self._fixes(triages.values())
        newest = await self._failures.newest_builds(fixes.keys())
        return [key for key, fix in fixes.items() if is_reopened(newest.get(key), triages[key], fix)]

    async def _fixes(self, triages: Iterable[TriageSnapshot]) -> Mapping[FailureKey, BuildSnapshot]:
        """The builds in which failures were fixed, as far as they exist."""
        versions: defaultdict[str, set[str]] = defaultdict(set)
        fixed = [each for each in triages if each.state is FailureState.FIXED and each.fixed_in is not None]
        for each in fixed:
            versions[each.app_id].add(each.fixed_in or "")
        builds = await asyncio.gather(
            *(self._read.builds_of_versions(app_id, some) for app_id, some in versions.items())
        )
        known = {(build.app_id, build.version): build for some in builds for build in some}
        return {
            (each.app_id, each.fingerprint): build
            for each in fixed
            if (build := known.get((each.app_id, each.fixed_in or "")))
        }
