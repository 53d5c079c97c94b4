"""Finding the build that a report is about, which reporting may not have received yet."""

from collections.abc import Collection

from services.chassis.errors import NotFound, Unavailable
from services.reporting.model.snapshots import BuildSnapshot
from services.reporting.usecases.poll import Polls
from services.reporting.usecases.report_sources import ReportSources

RETRY_AFTER_SECONDS = 2.0
BUILD_UNKNOWN = "Reporting has not heard of this build yet; try again"


class KnownBuilds:
    """The builds of the caller's organisation that are not deleted."""

    def __init__(self, sources: ReportSources) -> None:
        self._read = sources.read_models
        self._revisions = Polls(self._read_revisions, sources.turns)
        self._revision_wait = sources.revision_wait

    async def get(self, build_id: str, min_revision: int | None) -> BuildSnapshot:
        """The build; `min_revision` waits (bounded) until the copy of its app has that revision.

        NotFound: no such build. Unavailable: it is not known yet, although a caller that knows a revision knows it.
        """
        if min_revision is not None:
            await self._revisions.until(
                build_id, lambda revision: revision is not None and revision >= min_revision, self._revision_wait
            )
        return await self.find(build_id, exists=min_revision is not None)

    async def find(self, build_id: str, *, exists: bool) -> BuildSnapshot:
        """The build as it is known now; `exists`: the caller knows that there is one. NotFound, Unavailable."""
        build_snapshot = (await self._read.builds_by_id([build_id])).get(build_id)
        if build_snapshot is None and exists:
            raise Unavailable(BUILD_UNKNOWN, retry_after=RETRY_AFTER_SECONDS)
        if build_snapshot is None or build_snapshot.deleted:
            raise NotFound("Build not found")
        return build_snapshot

    async def _read_revisions(self, build_ids: Collection[str]) -> dict[str, int]:
        """By build that exists, the revision of its app."""
        builds = [build for build in (await self._read.builds_by_id(build_ids)).values() if not build.deleted]
        apps = await self._read.apps_by_id({build.app_id for build in builds})
        return {build.build_id: apps[build.app_id].revision for build in builds if build.app_id in apps}
