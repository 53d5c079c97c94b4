"""How builds come into being: from an uploaded artifact, or with the address of one that is kept elsewhere."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID

from services.catalog import spool
from services.catalog.model.artifacts import Hostile, Inspection, Received
from services.catalog.model.builds import METADATA_ERROR, Build, artifact_key, checked_metadata
from services.catalog.model.json_types import Json
from services.catalog.model.refusals import Refused
from services.catalog.model.text import checked_version
from services.catalog.ports.artifacts import Inspector, Objects
from services.catalog.ports.store import Change, Store, Taken
from services.catalog.spool import Spool
from services.catalog.usecases.app_facts import builds_changed
from services.catalog.usecases.apps import no_such_app
from services.catalog.usecases.builds import version_exists
from services.catalog.usecases.refusing import refusing
from services.chassis.clock import Clock
from services.chassis.context import current
from services.chassis.identity import new_id


@dataclass(frozen=True, slots=True)
class NewBuild:
    """What a client says of the build that it makes."""

    app_id: str
    version: str | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)
    package_name: str | None = None
    artifact_url: str | None = None
    file_name: str | None = None


class UploadUseCases:
    """Making builds."""

    def __init__(self, store: Store, objects: Objects, *, spool: Spool, inspector: Inspector, clock: Clock) -> None:
        self._store = store
        self._objects = objects
        self._spool = spool
        self._inspector = inspector
        self._clock = clock

    @refusing
    async def refer(self, new: NewBuild) -> Build:
        """A build whose artifact is kept elsewhere; the address is never fetched. NotFound; AlreadyExists."""
        return await self._kept(self._build(new, checked_version(new.version or "")))

    @refusing
    async def upload(self, new: NewBuild, chunks: AsyncIterator[bytes]) -> Build:
        """A build from the bytes of its artifact; an upload that is cut leaves nothing.

        NotFound: no such app; AlreadyExists: it has the version; InvalidArgument: no version can be told, or the file
        is empty, too large or no plausible app.
        """
        if new.version is not None:
            new = replace(new, version=checked_version(new.version))
        checked_metadata(new.metadata)
        await self._check_room(new.app_id, new.version)
        async with self._spool.receive(chunks) as file:
            build = await self._described(new, file)
            await self._check_room(build.app_id, build.version)
            reused = await self._store.artifacts.expect(file.sha256, file.size)
            if not reused:
                await self._objects.put_stream(artifact_key(build.org_id, file.sha256), spool.read(file.path))
                await self._store.artifacts.stored(file.sha256)
            return await self._kept(replace(build, was_reused=reused))

    async def _check_room(self, app_id: str, version: str | None) -> None:
        """Refuse early what the unique index would refuse at the end."""
        if await self._store.apps.get(app_id) is None:
            raise no_such_app()
        if version is not None and await self._store.builds.of_version(app_id, version) is not None:
            raise version_exists(version)

    async def _described(self, new: NewBuild, file: Received) -> Build:
        if file.size == 0:
            raise Refused("file", "the file is empty", "too_short")
        found = await self._inspector.inspect(file.path)
        if isinstance(found, Hostile):
            raise Refused("file", f"this is no plausible app: {found.reason}", "hostile_archive")
        build = self._build(new, new.version or _own_version(found))
        return replace(
            build,
            package_name=new.package_name or found.package_name,
            metadata={**new.metadata, METADATA_ERROR: found.error} if found.error else new.metadata,
            artifact_url=artifact_key(build.org_id, file.sha256),
            sha256=file.sha256,
            size=file.size,
            file_name=new.file_name,
        )

    def _build(self, new: NewBuild, version: str) -> Build:
        caller = current()
        return Build(
            id=new_id(),
            org_id=caller.org_id,
            app_id=new.app_id,
            version=version,
            uploaded_at=self._clock.now(),
            artifact_url=new.artifact_url,
            metadata=checked_metadata(new.metadata),
            owner=_uuid(caller.subject),
            package_name=new.package_name,
        )

    async def _kept(self, build: Build) -> Build:
        repeated = current().idempotency_key is not None

        async def work(change: Change) -> Build:
            app = await change.apps.get(build.app_id)
            if app is None:
                raise no_such_app()
            earlier = await change.builds.get(build.id) if repeated else None
            if earlier is not None:
                return earlier
            await change.builds.add(build)
            if build.sha256 is not None:
                await change.artifacts.use(build.sha256, 1)
            change.announce(build)
            await builds_changed(change, app, added=1, at=build.uploaded_at)
            return build

        try:
            return await self._store.change(work, of=build.app_id)
        except Taken as taken:
            raise version_exists(build.version) from taken


def _own_version(found: Inspection) -> str:
    if found.version is None:
        reason = f" ({found.error})" if found.error else ""
        raise Refused("version", f"the artifact names no version{reason}; send one with the upload", "missing")
    return checked_version(found.version)


def _uuid(subject: str | None) -> str | None:
    """The caller's key, when it has one."""
    try:
        return str(UUID(subject)) if subject else None
    except ValueError:
        return None
