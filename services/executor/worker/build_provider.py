"""What the automation gets to know of a claim's build, and how it gets at the build's file."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from pathlib import Path

from services.executor.automation.devices.port import Build
from services.executor.model.run_config import with_defaults
from services.executor.ports.runs import Claim
from services.executor.worker.build_files import BuildFile, BuildFileCache, FilesInUse
from services.executor.worker.build_heads import BuildHeadCache, download_failure


class BuildProvider:
    """Builds of claims: their beginnings from memory, their whole files from disk."""

    def __init__(self, beginnings: BuildHeadCache, files: BuildFileCache) -> None:
        self._beginnings = beginnings
        self._files = files

    def of(self, claim: Claim, using: FilesInUse) -> Build:
        """The build of a claim; its file stays on disk as long as `using` is. A run that installs nothing has none."""
        plan, target = claim.plan, claim.run.target
        installs = not with_defaults(claim.execution.run_config).execution_mode.skip_app_install
        return Build(
            app_name=target.app_name or "app",
            version=target.resolved_build_version or "",
            package_name=plan.artifact.package_name,
            static_url=plan.static_url,
            artifact_url=plan.artifact.artifact_url if installs else None,
            read=self._reader(claim),
            file=_fetching(claim, using) if installs else None,
        )

    def using(self) -> AbstractContextManager[FilesInUse]:
        """As `AppFiles.using`."""
        return self._files.using()

    def _reader(self, claim: Claim) -> Callable[[int], Awaitable[bytes]] | None:
        """How the beginning of the build's file is read; None for a build without one."""
        build_id, sha256 = claim.run.target.build_id, claim.plan.artifact.sha256
        if build_id is None or not sha256:
            return None

        async def read(limit: int) -> bytes:
            try:
                return await self._beginnings.read(claim.run.org_id, build_id, sha256, limit)
            except Exception as error:
                raise download_failure(error) from error

        return read


def _fetching(claim: Claim, using: FilesInUse) -> Callable[[], Awaitable[Path]] | None:
    """How the whole file is had; None for a build without one."""
    build_id, artifact = claim.run.target.build_id, claim.plan.artifact
    if build_id is None or not artifact.sha256:
        return None
    file = BuildFile(claim.run.org_id, build_id, artifact.sha256, artifact.file_name)
    return lambda: using.file(file)
