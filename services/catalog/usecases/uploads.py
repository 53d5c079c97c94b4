"""Creates builds: from an uploaded artifact, or with the URL of one that is stored elsewhere."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from uuid import UUID

from services.catalog.model.apps import App
from services.catalog.model.builds import (
    METADATA_ERROR,
    Build,
    Inspection,
    ReceivedFile,
    RejectedArtifact,
    artifact_key,
    validate_metadata,
)
from services.catalog.model.text import validate_version
from services.catalog.model.values import Counts, InvalidValue, Json, Platform
from services.catalog.ports import Store, Transaction
from services.catalog.reader_ports import Inspector
from services.catalog.spool import UploadSpool
from services.catalog.usecases.apps import update_app_builds
from services.catalog.usecases.artifact_quota import ArtifactQuota
from services.catalog.usecases.builds import version_exists
from services.catalog.usecases.errors import reports_violations, require, validate_link
from services.catalog.usecases.storage_quota import StorageQuota
from services.catalog.usecases.uploaded_files import Arrive, UploadedFiles
from services.chassis.clock import Clock
from services.chassis.context import current
from services.chassis.fair_turns import FairTurns
from services.chassis.ids import idempotency_key_reused, new_id
from services.chassis.mongo_errors import DuplicateValue
from services.chassis.object_store import PART_BYTES, ObjectStore


@dataclass(frozen=True, slots=True)
class NewBuild:
    """The client's description of a new build."""

    app_id: str
    version: str | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)
    package_name: str | None = None
    artifact_url: str | None = None
    file_name: str | None = None
    expected_bytes: int = 0
    version_suffix: str | None = None
    # What the build gets; by default a new one.
    id: str | None = None
    # Of an upload in parts: its id, which becomes that of the build.
    upload_id: str | None = None
    # Of an upload in parts: that of the file.
    sha256: str | None = None


class UploadUseCases:
    """Making builds."""

    def __init__(
        self,
        store: Store,
        objects: ObjectStore,
        files: UploadedFiles,
        *,
        quota: ArtifactQuota,
        storage: StorageQuota,
        spool: UploadSpool,
        inspector: Inspector,
        clock: Clock,
        simulated_devices: bool = False,
    ) -> None:
        """`simulated_devices`: whether workers have some, for which any file may be a build."""
        self._store = store
        self._objects = objects
        self._files = files
        self._quota = quota
        self._storage = storage
        self._spool = spool
        self._inspector = inspector
        self._clock = clock
        self._simulated_devices = simulated_devices
        # For files that are stored in more than one part: an organisation's uploads often end at the same moment.
        self._large_turns = FairTurns(4, per_org=1, waiting_per_org=1000, waiting=10_000)

    @reports_violations
    async def refer(self, new: NewBuild) -> Build:
        """A build whose artifact is stored elsewhere; the URL is never fetched.

        Raises:
            NotFound: there is no such app.
            AlreadyExists: the app has this version.
            PermissionDenied: the organisation has as many builds as it may.
        """
        if new.artifact_url is not None:
            validate_link(new.artifact_url, "artifact_url")
        return await self._save(self._build(new, validate_version(new.version or "")), new)

    @reports_violations
    async def upload(
        self, new: NewBuild, arrive: Arrive, *, final: Callable[[], NewBuild] | None = None
    ) -> tuple[Build, bool]:
        """A build of a file that arrives, and whether an earlier request with the same idempotency key made it; an
        upload that is cut leaves nothing.

        `new` is what the client has said at the start; `final` gives the description that counts, when the file is
        there.

        Raises:
            NotFound: no such app.
            AlreadyExists: it has the version, or the idempotency key is that of another upload.
            InvalidArgument: no version was sent or found, or the file is empty, too large or not a plausible app.
            PermissionDenied: the organisation has as many builds, or stores as many bytes, as it may.
            ResourceExhausted: the organisation's own uploads take the spool, or too many of them wait.
            Aborted: the upload was cut.
            Unavailable: the spool is full, too many uploads wait, or the file is not in the object store.
        """
        new, id = _validate(new), new_id()
        is_repeated = await self._earlier(id) is not None
        app = await self._check_room(new.app_id, None if is_repeated else new.version)
        if not is_repeated:
            await self.check_count()
        async with (
            self._quota.reserve(new.expected_bytes) as reservation,
            self._files.receive(arrive, reservation.cover, expected=new.expected_bytes) as arrived,
        ):
            new = replace(_validate(final()) if final is not None else new, id=id)
            async with self._turn(arrived.size):
                if (earlier := await self._earlier(id)) is not None:
                    return _same_upload(earlier, new, arrived.sha256), True
                async with arrived.open() as file:
                    return await self._store_build(app, new, file, partial(self._objects.move, arrived.key)), False

    @reports_violations
    async def assemble(self, new: NewBuild, chunks: AsyncIterator[bytes]) -> Build:
        """A build from the bytes of an upload in parts, which ends with it. The errors of `upload`.

        Raises:
            InvalidArgument: it is not the announced file.
        """
        new = _validate(new)
        app = await self._check_room(new.app_id, new.version)
        async with self._spool.receive(chunks, expected=new.expected_bytes) as file:
            if file.sha256 != new.sha256:
                message = "the uploaded parts differ from the announced file (SHA-256): start the upload again"
                raise InvalidValue("file", message, "content_differs")
            async with self._turn(file.size):
                return await self._store_build(app, new, file, partial(self._objects.put_file, path=file.path))

    async def check_count(self) -> None:
        """Check that the organisation may have one more build.

        Raises:
            PermissionDenied: the organisation has as many builds as it may.
        """
        await self._storage.check(self._store, Counts(builds=1))

    async def _store_build(
        self, app: App, new: NewBuild, file: ReceivedFile, put: Callable[[str], Awaitable[None]]
    ) -> Build:
        """`put` makes the file the object of this key."""
        build = await self._with_free_version(await self._describe(app, new, file), new)
        # Again, because the version may come from the file, and receiving it took a while.
        await self._check_room(build.app_id, build.version, build.id)
        reused = await self._store.artifacts.expect(file.sha256, file.size)
        if not reused:
            await put(artifact_key(build.org_id, file.sha256))
            await self._store.artifacts.stored(file.sha256)
        return await self._save(replace(build, was_reused=reused), new)

    async def _earlier(self, id: str) -> Build | None:
        """The build that an earlier request with the same idempotency key has made."""
        return await self._store.builds.get(id) if current().idempotency_key is not None else None

    def _turn(self, size: int) -> AbstractAsyncContextManager[None]:
        return self._large_turns.take(current().org_id) if size > PART_BYTES else nullcontext()

    async def _check_room(self, app_id: str, version: str | None, id: str | None = None) -> App:
        """The app. Refuse early what the unique index would refuse at the end; a build of this id is the same one."""
        app = require(await self._store.apps.get(app_id), "App")
        taken = await self._store.builds.of_version(app_id, version) if version is not None else None
        if taken is not None and taken.id != id:
            raise version_exists(taken.version)
        return app

    async def _with_free_version(self, build: Build, new: NewBuild) -> Build:
        """The build; with the suffix if the app has the version that stands in the artifact."""
        if new.version is not None or new.version_suffix is None:
            return build
        if await self._store.builds.of_version(build.app_id, build.version) is None:
            return build
        return replace(build, version=validate_version(f"{build.version}-{new.version_suffix}"))

    async def _describe(self, app: App, new: NewBuild, file: ReceivedFile) -> Build:
        if file.size == 0:
            raise InvalidValue("file", "the file is empty", "too_short")
        inspection = await self._inspector.inspect(file.path)
        if isinstance(inspection, RejectedArtifact):
            raise InvalidValue("file", inspection.reason, "not_installable")
        if inspection.platform not in (None, app.platform):
            message = f"this is an app for {inspection.platform}, and the app {app.name!r} is for {app.platform}"
            raise InvalidValue("file", f"{message}: name the app that it is a build of", "wrong_platform")
        if inspection.platform is None and app.static_url is None and not self._simulated_devices:
            raise InvalidValue("file", _not_an_app(app, inspection), "not_installable")
        build = self._build(new, new.version or _own_version(inspection))
        return replace(
            build,
            package_name=new.package_name or inspection.package_name,
            metadata={**new.metadata, METADATA_ERROR: inspection.error} if inspection.error else new.metadata,
            artifact_url=artifact_key(build.org_id, file.sha256),
            sha256=file.sha256,
            size=file.size,
            file_name=new.file_name,
        )

    def _build(self, new: NewBuild, version: str) -> Build:
        caller = current()
        return Build(
            id=new.upload_id or new.id or new_id(),
            org_id=caller.org_id,
            app_id=new.app_id,
            version=version,
            uploaded_at=self._clock.now(),
            artifact_url=new.artifact_url,
            metadata=validate_metadata(new.metadata),
            owner=_uuid(caller.subject),
            package_name=new.package_name,
        )

    async def _save(self, build: Build, new: NewBuild) -> Build:
        """Save the build of this description, and end its upload in parts."""
        repeated = new.upload_id is not None or current().idempotency_key is not None

        async def work(change: Transaction) -> Build:
            app = require(await change.apps.get(build.app_id), "App")
            # The id is that of the first try, whose answer was lost: its build is the answer.
            earlier = await change.builds.get(build.id) if repeated else None
            if earlier is not None:
                return _same_upload(earlier, new, build.sha256)
            await change.builds.add(build)
            await self._storage.add(change, Counts(builds=1))
            if new.upload_id is not None:
                await change.part_uploads.end(new.upload_id)
            if build.sha256 is not None:
                await change.artifacts.use(build.sha256, 1)
            change.announce(build)
            await update_app_builds(change, app, added=1, at=build.uploaded_at)
            return build

        try:
            return await self._store.change(work, of=build.app_id)
        except DuplicateValue as taken:
            if repeated and await self._store.builds.of_version(build.app_id, build.version) is None:
                raise idempotency_key_reused() from taken  # for a build that has been deleted
            raise version_exists(build.version) from taken


def _validate(new: NewBuild) -> NewBuild:
    validate_metadata(new.metadata)
    return new if new.version is None else replace(new, version=validate_version(new.version))


def _same_upload(earlier: Build, new: NewBuild, sha256: str | None) -> Build:
    """The earlier build. AlreadyExists: the new one would be another."""
    if (new.app_id, sha256) != (earlier.app_id, earlier.sha256) or new.version not in (None, earlier.version):
        raise idempotency_key_reused()
    return earlier


_FILES = {Platform.ANDROID: "an .apk", Platform.IOS: "an .ipa, or the .app of a simulator build as an archive"}


def _not_an_app(app: App, inspection: Inspection) -> str:
    return (
        f"no device can install this file ({_found(inspection)}): send {_FILES[app.platform]}; "
        "app models and other files are for simulated devices, which this server does not have "
        "(MOBILETEST_SIMULATED_DEVICES)"
    )


def _found(inspection: Inspection) -> str:
    """What the file is instead of an app; "" if it is one, or if that is not known."""
    return inspection.error or (f"it is {inspection.kind}" if inspection.kind else "")


def _own_version(inspection: Inspection) -> str:
    if inspection.version is None:
        found = _found(inspection)
        reason = f" ({found})" if found else ""
        raise InvalidValue("version", f"the artifact contains no version{reason}; send one with the upload", "missing")
    return validate_version(inspection.version)


def _uuid(subject: str | None) -> str | None:
    """The caller's key, when it has one."""
    try:
        return str(UUID(subject)) if subject else None
    except ValueError:
        return None
