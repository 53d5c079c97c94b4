"""Uploads in parts: they go on where a broken connection or a lost process left them."""

import re
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace

from services.catalog.model.builds import Build
from services.catalog.model.part_uploads import KEPT, MOST_UPLOADS, PART_BYTES, PartUpload, parts_prefix
from services.catalog.model.values import InvalidValue
from services.catalog.ports import Store
from services.catalog.usecases.artifact_quota import ArtifactQuota
from services.catalog.usecases.errors import reports_violations, require
from services.catalog.usecases.uploaded_files import Arrive, file_not_stored
from services.catalog.usecases.uploads import NewBuild, UploadUseCases
from services.chassis.clock import Clock
from services.chassis.context import current
from services.chassis.errors import (
    AlreadyExists,
    DomainError,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    PermissionDenied,
)
from services.chassis.ids import new_id, random_id
from services.chassis.limit_refusals import limit_reached
from services.chassis.mongo_errors import DuplicateValue
from services.chassis.object_store import ObjectStore

UPLOADS_ADVICE = "complete or delete uploads that you have started, or wait until they end"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SHOWN = 10


class PartUploadUseCases:
    """Uploading in parts."""

    def __init__(
        self,
        store: Store,
        objects: ObjectStore,
        builds: UploadUseCases,
        *,
        quota: ArtifactQuota,
        max_bytes: int,
        clock: Clock,
        part_bytes: int = PART_BYTES,
    ) -> None:
        self._store = store
        self._objects = objects
        self._builds = builds
        self._quota = quota
        self._max_bytes = max_bytes
        self._clock = clock
        self._part_bytes = part_bytes

    @reports_violations
    async def start(self, app_id: str, sha256: str, size: int) -> PartUpload:
        """The upload of the file, which may be under way.

        Raises:
            NotFound: no such app.
            InvalidArgument: it is too large.
            PermissionDenied: the organisation has as many builds, stores as many bytes, or has as many uploads, as it
                may.
        """
        require(await self._store.apps.get(app_id), "App")
        if size > self._max_bytes:
            raise InvalidValue("size_bytes", f"the file is larger than {self._max_bytes} bytes", "too_large")
        sha256 = _digest(sha256)
        under_way = await self._store.part_uploads.of_file(app_id, sha256, size)
        if under_way is None:
            await self._builds.check_count()
        return under_way or await self._add(app_id, sha256, size)

    async def _add(self, app_id: str, sha256: str, size: int) -> PartUpload:
        """As in `ArtifactQuota` limits are checked afterwards: uploads that start at once do not exceed them."""
        upload = PartUpload(
            id=new_id(),
            org_id=current().org_id,
            app_id=app_id,
            sha256=sha256,
            size=size,
            part_bytes=self._part_bytes,
            expires_at=self._clock.now() + KEPT,
        )
        try:
            await self._store.part_uploads.add(upload)
        except DuplicateValue:  # the same file was started at the same time
            return require(await self._store.part_uploads.of_file(app_id, sha256, size), "Upload")
        try:
            await self._make_room()
        except BaseException:
            await self._store.part_uploads.remove(upload.id)
            raise
        return upload

    async def _make_room(self) -> None:
        """End idle uploads if limits are exceeded, as those of jobs that were killed. PermissionDenied: that is not
        enough.
        """
        try:
            await self._check_limits()
        except PermissionDenied:
            idle = await self._store.part_uploads.idle()
            for upload in idle:
                await self._end(upload)
            await self._check_limits()

    async def _check_limits(self) -> None:
        if await self._store.part_uploads.count() > MOST_UPLOADS:
            raise limit_reached("uploads_in_parts", MOST_UPLOADS, UPLOADS_ADVICE)
        await self._quota.check()

    async def get(self, upload_id: str) -> PartUpload:
        """The upload.

        Raises:
            NotFound: it does not exist, or is completed.
        """
        return require(await self._store.part_uploads.get(upload_id), "Upload")

    @reports_violations
    async def put_part(self, upload_id: str, number: int, sha256: str, arrive: Arrive) -> PartUpload:
        """The upload with this part.

        Raises:
            NotFound: the upload does not exist, or ends meanwhile.
            InvalidArgument: the part has another size or SHA-256. And the errors of `arrive`.
            Unavailable: the part is not in the object store.
        """
        upload = await self.get(upload_id)
        if not 1 <= number <= upload.count:
            raise InvalidValue("number", f"expected the number of a part, from 1 to {upload.count}", "out_of_range")
        size, sha256 = upload.size_of(number), _digest(sha256)

        async def cover(arrived: int) -> None:
            if arrived > size:
                raise _wrong_size(number, size, "more")

        key = f"{upload.key_of(number)}.{random_id()}"
        try:
            stored = await arrive(key, cover)
            if stored.size != size:
                raise _wrong_size(number, size, f"only {stored.size}")
            if stored.sha256 != sha256:
                raise InvalidValue("sha256", f"part {number} arrived with another SHA-256: send it again", "wrong_hash")
            await self._keep(upload, key, number)
        except BaseException:
            with suppress(DomainError):  # it ends with the upload
                await self._objects.delete(key)
            raise
        under_way = await self._store.part_uploads.arrived(upload.id, number)
        if under_way is None:
            await self._objects.delete(upload.key_of(number))
        return require(under_way, "Upload")

    async def _keep(self, upload: PartUpload, key: str, number: int) -> None:
        """Make the object the part of this number."""
        try:
            await self._objects.move(key, upload.key_of(number))
        except NotFound:
            await self.get(upload.id)  # with an upload that ended meanwhile, its parts are deleted
            raise file_not_stored() from None

    async def complete(self, upload_id: str, new: NewBuild) -> Build:
        """The build of the upload, once: repeated, the same build.

        The upload ends if its file can never become a build.

        Raises:
            NotFound: it does not exist.
            FailedPrecondition: parts are missing.
            AlreadyExists: it is a build of another version. And the errors of `UploadUseCases.assemble`.
        """
        if (made := await self._made(upload_id, new)) is not None:
            return made
        upload = await self.get(upload_id)
        if missing := upload.missing:
            shown = ", ".join(map(str, missing[:_SHOWN])) + (", ..." if len(missing) > _SHOWN else "")
            raise FailedPrecondition(f"Parts are missing: {shown}", reason="PARTS_MISSING")
        described = replace(
            new, app_id=upload.app_id, upload_id=upload.id, sha256=upload.sha256, expected_bytes=upload.size
        )
        try:
            build = await self._builds.assemble(described, self._content(upload))
        except (AlreadyExists, NotFound, InvalidArgument) as problem:
            if (made := await self._made(upload_id, new)) is not None:  # another completion was faster
                return made
            if _is_final(problem):
                await self._end(upload)
            raise
        await self._end(upload)
        return build

    async def _made(self, upload_id: str, new: NewBuild) -> Build | None:
        made = await self._store.builds.get(upload_id)
        if made is not None and new.version not in (None, made.version):
            message = f"The upload is build {made.version} already; start it again for another version"
            raise AlreadyExists(message, reason="UPLOAD_COMPLETED")
        return made

    async def delete(self, upload_id: str) -> None:
        """End the upload.

        Raises:
            NotFound: it does not exist.
        """
        await self._end(await self.get(upload_id))

    async def _content(self, upload: PartUpload) -> AsyncIterator[bytes]:
        for number in range(1, upload.count + 1):
            async for chunk in self._objects.get_stream(upload.key_of(number)):
                yield chunk

    async def _end(self, upload: PartUpload) -> None:
        await self._store.part_uploads.end(upload.id)
        await self._objects.delete_all(parts_prefix(upload.org_id, upload.id))


def _digest(sha256: str) -> str:
    """The digest in lower case."""
    if not _SHA256.fullmatch(sha256.lower()):
        raise InvalidValue("sha256", "expected 64 hexadecimal digits", "string_pattern_mismatch")
    return sha256.lower()


def _is_final(problem: AlreadyExists | NotFound | InvalidArgument) -> bool:
    """Whether no other description helps: the app or a part is gone, or the file is refused."""
    if isinstance(problem, InvalidArgument):
        return any(violation.field == "file" for violation in problem.violations)
    return isinstance(problem, NotFound)


def _wrong_size(number: int, size: int, arrived: str) -> InvalidValue:
    return InvalidValue("file", f"expected {size} bytes of part {number}, and {arrived} arrived", "wrong_size")
