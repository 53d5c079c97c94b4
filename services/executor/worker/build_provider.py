"""Describes a claimed run's build to the automation, and reads the files of builds and tests from the catalog."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from mobiletest_automation.devices.port import AppUnderTest
from services.chassis.keyed_locks import KeyedLocks
from services.executor.model.runs import TestFile
from services.executor.ports.executions import Catalog
from services.executor.ports.runs import Claim
from services.executor.worker.file_cache import CatalogFile, FetchFile, FileCache, wait_for_catalog

# How long before the end of a run reading its build is given up, so that the run can say why it failed.
MARGIN_SECONDS = 5.0


class BuildHeadCache:
    """The beginnings of build files in memory, by SHA-256; runs that need the same file at once share one read."""

    def __init__(self, catalog: Catalog, max_bytes: int) -> None:
        self._catalog = catalog
        self._max_bytes = max_bytes
        self._heads: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._size = 0
        self._locks: KeyedLocks[tuple[str, int]] = KeyedLocks()

    async def read(self, org_id: str, build_id: str, sha256: str, limit: int) -> bytes:
        """The first `limit` bytes of the file. Errors of the catalog are raised as they are."""
        key = (sha256, limit)
        async with self._locks[key]:
            if key in self._heads:
                self._heads.move_to_end(key)
                return self._heads[key]
            content = await self._catalog.artifact(org_id, build_id, limit)
            self._add(key, content)
            return content

    def _add(self, key: tuple[str, int], content: bytes) -> None:
        self._heads[key] = content
        self._size += len(content)
        while self._size > self._max_bytes:
            _, dropped = self._heads.popitem(last=False)
            self._size -= len(dropped)


class BuildProvider:
    """Builds of claimed runs: the beginning of a file from memory, whole files from disk."""

    def __init__(self, heads: BuildHeadCache, files: FileCache) -> None:
        self._heads = heads
        self._files = files

    @contextmanager
    def open_build(self, claim: Claim) -> Iterator[AppUnderTest]:
        """The build of a claimed run, whose files stay until the end of the block; with skip_app_install no file.

        Its file is read through outages of the catalog, as long as the run has time.
        """
        until = monotonic() + claim.attempt_seconds - MARGIN_SECONDS
        plan, target = claim.plan, claim.run.target
        installs = not claim.execution.run_config.execution_mode.skip_app_install
        with self._files.open_files(until) as fetch:
            yield AppUnderTest(
                org_id=claim.run.org_id,
                skips_install=not installs,
                app_name=target.app_name or "app",
                version=target.resolved_build_version or "",
                package_name=plan.artifact.package_name,
                static_url=plan.static_url,
                artifact_url=plan.artifact.artifact_url if installs else None,
                read=self._head_reader(claim, until),
                file=_file_getter(claim, fetch) if installs else None,
            )

    async def read_test_file(self, claim: Claim, file: TestFile) -> bytes:
        """The content of a file that a claimed run needs.

        Raises:
            DeviceFailure: as in `FileCache.open_files`.
        """
        until = monotonic() + claim.attempt_seconds - MARGIN_SECONDS
        with self._files.open_files(until) as fetch:
            stored = await fetch(CatalogFile(claim.run.org_id, file.sha256, file.path))
            return await asyncio.to_thread(stored.read_bytes)

    def _head_reader(self, claim: Claim, until: float) -> Callable[[int], Awaitable[bytes]] | None:
        """Reads the beginning of the build's file; None for a build without one."""
        build_id, sha256 = claim.run.target.build_id, claim.plan.artifact.sha256
        if build_id is None or not sha256:
            return None

        def read(limit: int) -> Awaitable[bytes]:
            return wait_for_catalog(lambda: self._heads.read(claim.run.org_id, build_id, sha256, limit), until)

        return read


def _file_getter(claim: Claim, fetch: FetchFile) -> Callable[[], Awaitable[Path]] | None:
    """Downloads the whole file; None for a build without one."""
    build_id, artifact = claim.run.target.build_id, claim.plan.artifact
    if build_id is None or not artifact.sha256:
        return None
    file = CatalogFile(claim.run.org_id, artifact.sha256, artifact.file_name, build_id)
    return lambda: fetch(file)
