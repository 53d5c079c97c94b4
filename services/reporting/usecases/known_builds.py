"""Finding the build that a report is about, which reporting may not have received yet."""

from services.chassis.errors import NotFound, Unavailable
from services.reporting.model.snapshots import BuildSnapshot
from services.reporting.ports import ReadModels
from services.reporting.usecases.poll import REVISION_WAIT_SECONDS, poll_until

RETRY_AFTER_SECONDS = 2.0
BUILD_UNKNOWN = "Reporting has not heard of this build yet; try again"


class KnownBuilds:
    """The builds of the caller's organisation that are not deleted."""

    def __init__(self, read_models: ReadModels, *, revision_wait: float = REVISION_WAIT_SECONDS) -> None:
        self._read = read_models
        self._revision_wait = revision_wait

    async def get(self, build_id: str, min_revision: int | None) -> BuildSnapshot:
        """The build; `min_revision` waits (bounded) until the copy of its app has that revision.

        NotFound: no such build. Unavailable: it is not known yet, although a caller that knows a revision knows it.
        """
        if min_revision is not None:
            await poll_until(bool, lambda: self._has_revision(build_id, min_revision), self._revision_wait)
        return await self.find(build_id, exists=min_revision is not None)

    async def find(self, build_id: str, *, exists: bool) -> BuildSnapshot:
        """The build as it is known now; `exists`: the caller knows that there is one. NotFound, Unavailable."""
        found = (await self._read.builds_by_id([build_id])).get(build_id)
        if found is None and exists:
            raise Unavailable(BUILD_UNKNOWN, retry_after=RETRY_AFTER_SECONDS)
        if found is None or found.deleted:
            raise NotFound("Build not found")
        return found

    async def _has_revision(self, build_id: str, min_revision: int) -> bool:
        build = (await self._read.builds_by_id([build_id])).get(build_id)
        app = await self._read.app(build.app_id) if build and not build.deleted else None
        return app is not None and app.revision >= min_revision
