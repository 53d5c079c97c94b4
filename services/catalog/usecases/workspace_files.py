"""Stores the pictures and videos of workspaces, each content once, as the artifacts of builds are."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

from mobiletest_automation.flows.workspace import WorkspaceFlow
from mobiletest_automation.flows.workspace_media import MediaFile
from services.catalog.model.builds import artifact_key
from services.catalog.model.values import InvalidValue
from services.catalog.ports import Store
from services.catalog.reader_ports import WorkspaceReader
from services.catalog.usecases.artifact_quota import ArtifactQuota
from services.chassis.context import current
from services.chassis.object_store import ObjectStore


class WorkspaceFileStore:
    """The files of tests: they are stored before the tests that use them, and swept if these are not."""

    def __init__(
        self, store: Store, objects: ObjectStore, *, quota: ArtifactQuota, workspaces: WorkspaceReader
    ) -> None:
        self._store = store
        self._objects = objects
        self._quota = quota
        self._workspaces = workspaces

    @asynccontextmanager
    async def keep(self, workspace: str, archive: Path, flows: Sequence[WorkspaceFlow]) -> AsyncIterator[None]:
        """Store the files of flows that no test of the workspace has; their bytes are reserved inside the block.

        Raises:
            PermissionDenied: the organisation stores as many bytes as it may.
        """
        new = await self._new_files(workspace, flows)
        if not new:
            yield
            return
        size = sum(file.size for file in new)
        async with self._quota.reserve(size) as reservation:
            for file in new:
                await self._store_file(archive, file)
                await reservation.cover(size)
            yield

    def read(self, sha256: str) -> AsyncIterator[bytes]:
        """The content of a file of the caller's organisation.

        Raises:
            NotFound: it does not exist.
        """
        return self._objects.get_stream(artifact_key(current().org_id, sha256))

    async def _new_files(self, workspace: str, flows: Sequence[WorkspaceFlow]) -> Sequence[MediaFile]:
        """One file for each content that the tests of the workspace do not use yet."""
        files = {file.sha256: file for flow in flows for file in flow.files}
        stored = await self._store.tests.stored_files(workspace, files) if files else ()
        return [file for digest, file in files.items() if digest not in stored]

    async def _store_file(self, archive: Path, file: MediaFile) -> None:
        if await self._store.artifacts.expect(file.sha256, file.size):
            return
        content = await self._workspaces.read_file(archive, file.path)
        if await asyncio.to_thread(lambda: sha256(content).hexdigest()) != file.sha256:
            raise InvalidValue("file", f"{file.path} cannot be read twice: send the folder again")
        await self._objects.put_bytes(artifact_key(current().org_id, file.sha256), content)
        await self._store.artifacts.stored(file.sha256)
