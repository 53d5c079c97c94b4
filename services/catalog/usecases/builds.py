"""Listing, changing, deleting and downloading builds; `uploads.py` creates them."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from mobiletest.types.v1.byte_range_pb2 import ByteRange

from services.catalog.model import attachments, workflows
from services.catalog.model.apps import App
from services.catalog.model.builds import (
    ALL_BUILDS,
    Build,
    BuildFilter,
    artifact_key,
    mark_build_deleted,
    validate_metadata,
)
from services.catalog.model.text import validate_version
from services.catalog.model.values import Counts, ListPage, Page
from services.catalog.ports import Store, Transaction
from services.catalog.usecases.apps import update_app_builds
from services.catalog.usecases.errors import reports_violations, require, require_revision
from services.chassis.byte_ranges import FilePart, find_part
from services.chassis.clock import Clock
from services.chassis.errors import AlreadyExists, FailedPrecondition
from services.chassis.mongo_errors import DuplicateValue
from services.chassis.object_store import ObjectStore

# New values of metadata (a mapping), package_name and version; None clears a package name and leaves a version.
BuildChanges = Mapping[str, Any]


def version_exists(version: str) -> AlreadyExists:
    """The error for a version that the app already has."""
    return AlreadyExists(f"This app already has a build of version {version}", reason="VERSION_EXISTS")


class BuildUseCases:
    """Listing, changing, deleting and downloading builds."""

    def __init__(self, store: Store, objects: ObjectStore, clock: Clock) -> None:
        self._store = store
        self._objects = objects
        self._clock = clock

    async def list(self, app_id: str, page: Page, filter: BuildFilter = ALL_BUILDS) -> ListPage[Build]:
        """A page of the app's builds that fit, newest first.

        Raises:
            NotFound: no such app.
        """
        app = require(await self._store.apps.get(app_id), "App")
        if filter != ALL_BUILDS:
            total = await self._store.builds.count(app_id, filter)
            return ListPage(await self._store.builds.page(app_id, page, filter) if total else (), total)
        empty = page.offset >= app.versions_count
        return ListPage(() if empty else await self._store.builds.page(app_id, page), app.versions_count)

    async def get(self, build_id: str) -> Build:
        """The build.

        Raises:
            NotFound: it does not exist.
        """
        return require(await self._store.builds.get(build_id), "Build")

    async def many(self, build_ids: Sequence[str]) -> Sequence[Build]:
        """Those of the builds that exist, in the order asked for."""
        builds = {build.id: build for build in await self._store.builds.many(frozenset(build_ids))}
        return [builds[build_id] for build_id in build_ids if build_id in builds]

    @reports_violations
    async def update(self, build_id: str, changes: BuildChanges, expected: Collection[int] = ()) -> Build:
        """The build with the changes.

        Raises:
            NotFound: it does not exist.
            AlreadyExists: the app has another build of the new version.
            Aborted: its revision is not expected.
        """
        values = _validate_changes(changes)
        app_id, now = (await self.get(build_id)).app_id, self._clock.now()

        async def work(change: Transaction) -> Build:
            build = require_revision(await change.builds.get(build_id), "Build", expected)
            changed = replace(build, **values)
            if changed == build:
                return build
            return await _apply_change(change, build, replace(changed, revision=build.revision + 1), now)

        try:
            return await self._store.change(work, of=app_id)
        except DuplicateValue as taken:
            raise version_exists(values["version"]) from taken

    async def delete(self, build_id: str, expected: Collection[int] = ()) -> None:
        """Delete the build; pins and pointers to its version stay, and its version may be used again.

        Raises:
            NotFound: it does not exist.
            Aborted: as in `update`.
        """
        app_id, now = (await self.get(build_id)).app_id, self._clock.now()

        async def work(change: Transaction) -> None:
            build = require_revision(await change.builds.get(build_id), "Build", expected)
            app = require(await change.apps.get(build.app_id), "Build")
            gone = mark_build_deleted(build, now)
            await change.builds.replace(gone)
            if build.sha256 is not None:
                await change.artifacts.use(build.sha256, -1)
            await change.counters.add(Counts(builds=-1))
            change.announce(gone)
            await update_app_builds(change, app, added=-1, at=now)

        await self._store.change(work, of=app_id)

    async def download(
        self, build_id: str, asked: ByteRange | None = None
    ) -> tuple[Build, FilePart, AsyncIterator[bytes]]:
        """The build, and the part of its artifact that was asked for.

        Raises:
            NotFound: it does not exist.
            FailedPrecondition: it is stored elsewhere.
            InvalidArgument: as in `find_part`.
        """
        build = await self.get(build_id)
        if build.sha256 is None:
            raise FailedPrecondition(
                "This build's artifact is stored elsewhere; download it from its artifact_url",
                reason="ARTIFACT_ELSEWHERE",
            )
        part = find_part(asked, size=build.size or 0, etag=build.sha256)
        return build, part, self._objects.get_stream(artifact_key(build.org_id, build.sha256), part)


def _validate_changes(changes: BuildChanges) -> dict[str, Any]:
    values = dict(changes)
    if values.get("version") is None:
        values.pop("version", None)
    else:
        values["version"] = validate_version(values["version"])
    if "metadata" in values:
        values["metadata"] = validate_metadata(values["metadata"] or {})
    return values


async def _apply_change(change: Transaction, before: Build, after: Build, now: datetime) -> Build:
    app = require(await change.apps.get(before.app_id), "Build")
    await change.builds.replace(after)
    change.announce(after)
    if after.version != before.version:
        app = await _rename_references(change, app, before.version, after.version, now)
    await update_app_builds(change, app, added=0, at=now)
    return after


async def _rename_references(change: Transaction, app: App, old: str, new: str, now: datetime) -> App:
    """Take along what named the old version: pins, the app's pointer (returned, not written) and workflows."""
    pinned = [a for a in await change.attachments.of_app(app.id) if a.pinned_version == old]
    moved = [attachments.change_pin(attachment, new) for attachment in pinned]
    await change.attachments.put(moved)
    change.announce(*moved)
    for workflow in await change.workflows.with_version(app.id, old):
        config = workflows.rename_version(workflow.build_config, app_id=app.id, old=old, new=new)
        await change.workflows.replace(
            replace(workflow, build_config=config, revision=workflow.revision + 1, updated_at=now)
        )
    return replace(app, current_version=new) if app.current_version == old else app
