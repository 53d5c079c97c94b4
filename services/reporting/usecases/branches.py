"""The branches and pull requests of an app, which CI named."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from services.chassis.text_search import search_pattern
from services.reporting.model.snapshots import BuildSnapshot
from services.reporting.model.sources import NAMED_KINDS, BranchKey, BranchKind, BranchRow
from services.reporting.ports import BranchQuery, RowPage
from services.reporting.usecases.report_sources import KnownApps, ReportSources


@dataclass(frozen=True, slots=True)
class BranchFilter:
    """Branches of a kind (None: any) whose names begin with `search`, or that have exactly this `name`."""

    kind: BranchKind | None = None
    search: str | None = None
    name: str | None = None

    @property
    def kinds(self) -> tuple[BranchKind, ...]:
        return (self.kind,) if self.kind else NAMED_KINDS


@dataclass(frozen=True, slots=True)
class BranchesPage:
    """Branches with the builds, by id, that they name and that are not deleted. `repositories` are by build."""

    total: int
    branches: Sequence[tuple[BranchKey, BranchRow]]
    builds: Mapping[str, BuildSnapshot]
    repositories: Mapping[str, str]


class AppBranches:
    """The branches of apps of the caller's organisation."""

    def __init__(self, sources: ReportSources) -> None:
        self._read = sources.read_models
        self._apps = KnownApps(sources)

    async def list(
        self, app_id: str, filter: BranchFilter, page: RowPage, min_revision: int | None = None
    ) -> BranchesPage:
        """A page of branches, those with the newest run first. `min_revision` waits (bounded) until the copy of the app
        has that revision.

        Raises:
            NotFound: no such app.
        """
        await self._apps.get(app_id, min_revision)
        total, branches = await self._find(app_id, filter, page)
        ids = {build.build_id for _, branch in branches for build in branch.builds}
        named, sources = await asyncio.gather(self._read.builds_by_id(ids), self._read.build_sources(app_id, ids))
        builds = {build_id: build for build_id, build in named.items() if not build.deleted}
        repositories = {build_id: source.repository.text for build_id, source in sources.items() if source.repository}
        return BranchesPage(total, branches, builds, repositories)

    async def _find(
        self, app_id: str, filter: BranchFilter, page: RowPage
    ) -> tuple[int, Sequence[tuple[BranchKey, BranchRow]]]:
        if filter.name is not None:
            keys = [(app_id, kind.value, filter.name) for kind in filter.kinds]
            found = sorted((await self._read.branches_by_key(keys)).items())
            return len(found), found[page.skip : page.skip + page.limit]
        pattern = search_pattern(filter.search) if filter.search else None
        if filter.search and pattern is None:
            return 0, []
        query = BranchQuery(app_id, filter.kinds, pattern)
        total, branches = await asyncio.gather(self._read.count_branches(query), self._read.branches(query, page))
        return total, branches
