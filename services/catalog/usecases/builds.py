"""What can be done with builds that are there; `uploads.py` makes them."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from services.catalog.model import attachments, workflows
from services.catalog.model.apps import App
from services.catalog.model.builds import Build, artifact_key, checked_metadata
from services.catalog.model.pages import Listed, Page
from services.catalog.model.text import checked_version
from services.catalog.ports.artifacts import Objects
from services.catalog.ports.store import Change, Store, Taken
from services.catalog.usecases.app_facts import builds_changed
from services.catalog.usecases.apps import no_such_app
from services.catalog.usecases.refusing import refusing
from services.chassis.clock import Clock
from services.chassis.errors import AlreadyExists, FailedPrecondition, NotFound

BuildChanges = Mapping[str, Any]
"""New values of metadata (a mapping), package_name and version; None clears a package name and leaves a version."""


def no_such_build() -> NotFound:
    """What is said of a build that is unknown, deleted, or another organisation's."""
    return NotFound("Build not found")


def version_exists(version: str) -> AlreadyExists:
    """What is said of a version that the app has already."""
    return AlreadyExists(f"This app already has a build of version {version}", reason="VERSION_EXISTS")


@dataclass(frozen=True, slots=True)
class Download:
    """An artifact on its way out."""

    build: Build
    chunks: AsyncIterator[bytes]


class BuildUseCases:
    """Listing, changing, deleting and downloading builds."""

    def __init__(self, store: Store, objects: Objects, clock: Clock) -> None:
        self._store = store
        self._objects = objects
        self._clock = clock

    async def list(self, app_id: str, page: Page) -> Listed[Build]:
        """A page of the app's builds, newest first. NotFound: no such app."""
        app = await self._store.apps.get(app_id)
        if app is None:
            raise no_such_app()
        empty = page.offset >= app.versions_count
        return Listed(() if empty else await self._store.builds.page(app_id, page), app.versions_count)

    async def get(self, build_id: str) -> Build:
        """The build. NotFound."""
        build = await self._store.builds.get(build_id)
        if build is None:
            raise no_such_build()
        return build

    async def many(self, build_ids: Sequence[str]) -> Sequence[Build]:
        """Those of the builds that exist, in the order asked for."""
        found = {build.id: build for build in await self._store.builds.many(frozenset(build_ids))}
        return [found[build_id] for build_id in build_ids if build_id in found]

    @refusing
    async def update(self, build_id: str, changes: BuildChanges) -> Build:
        """The build with the changes. NotFound; AlreadyExists: the app has another build of the new version."""
        values = _checked(changes)
        app_id, now = (await self.get(build_id)).app_id, self._clock.now()

        async def work(change: Change) -> Build:
            build = await change.builds.get(build_id)
            if build is None:
                raise no_such_build()
            changed = replace(build, **values)
            if changed == build:
                return build
            return await _changed(change, build, replace(changed, revision=build.revision + 1), now)

        try:
            return await self._store.change(work, of=app_id)
        except Taken as taken:
            raise version_exists(values["version"]) from taken

    async def delete(self, build_id: str) -> None:
        """Delete the build; pins and pointers to its version stay, and its version may be used again. NotFound."""
        app_id, now = (await self.get(build_id)).app_id, self._clock.now()

        async def work(change: Change) -> None:
            build = await change.builds.get(build_id)
            app = await change.apps.get(build.app_id) if build else None
            if build is None or app is None:
                raise no_such_build()
            gone = replace(build, deleted_at=now, revision=build.revision + 1)
            await change.builds.replace(gone)
            if build.sha256 is not None:
                await change.artifacts.use(build.sha256, -1)
            change.announce(gone)
            await builds_changed(change, app, added=-1, at=now)

        await self._store.change(work, of=app_id)

    async def download(self, build_id: str) -> Download:
        """The artifact. NotFound; FailedPrecondition: it is kept elsewhere."""
        build = await self.get(build_id)
        if build.sha256 is None:
            raise FailedPrecondition(
                "The artifact of this build is kept elsewhere, see its artifact_url", reason="ARTIFACT_ELSEWHERE"
            )
        return Download(build, self._objects.get_stream(artifact_key(build.org_id, build.sha256)))


def _checked(changes: BuildChanges) -> dict[str, Any]:
    values = dict(changes)
    if values.get("version") is None:
        values.pop("version", None)
    else:
        values["version"] = checked_version(values["version"])
    if "metadata" in values:
        values["metadata"] = checked_metadata(values["metadata"] or {})
    return values


async def _changed(change: Change, before: Build, after: Build, now: datetime) -> Build:
    app = await change.apps.get(before.app_id)
    if app is None:
        raise no_such_build()
    await change.builds.replace(after)
    change.announce(after)
    if after.version != before.version:
        app = await _followed(change, app, before.version, after.version, now)
    await builds_changed(change, app, added=0, at=now)
    return after


async def _followed(change: Change, app: App, old: str, new: str, now: datetime) -> App:
    """Take along what named the old version: pins, the app's pointer (returned, not written) and workflows."""
    pinned = [a for a in await change.attachments.of_app(app.id) if a.pinned_version == old]
    moved = [attachments.pinned(attachment, new) for attachment in pinned]
    await change.attachments.put(moved)
    change.announce(*moved)
    for workflow in await change.workflows.with_version(app.id, old):
        config = workflows.moved(workflow.build_config, app_id=app.id, old=old, new=new)
        await change.workflows.replace(
            replace(workflow, build_config=config, revision=workflow.revision + 1, updated_at=now)
        )
    return replace(app, current_version=new) if app.current_version == old else app
