"""Registering, listing, changing and deleting apps."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from services.catalog.model.apps import App, AppFilter, mark_deleted, raise_revision
from services.catalog.model.attachments import ATTACHED_LIMIT, Attachment, detach, update_test_counts
from services.catalog.model.builds import mark_build_deleted
from services.catalog.model.text import validate_name, validate_version
from services.catalog.model.values import Counts, ListPage, Page, Platform, app_counts
from services.catalog.ports import Store, Transaction
from services.catalog.usecases.errors import reports_violations, require, require_revision, validate_link
from services.catalog.usecases.storage_quota import StorageQuota
from services.chassis.clock import Clock
from services.chassis.context import current
from services.chassis.errors import DomainError
from services.chassis.ids import new_id
from services.chassis.limit_refusals import limit_reached
from services.chassis.text_search import search_pattern

# New values of name, static_url, current_version, description, system_prompt; None clears, but leaves a name.
AppChanges = Mapping[str, str | None]


class AppUseCases:
    """Registering, listing, changing and deleting apps."""

    def __init__(self, store: Store, quota: StorageQuota, clock: Clock) -> None:
        self._store = store
        self._quota = quota
        self._clock = clock

    @reports_violations
    async def create(self, name: str, platform: Platform, description: str | None) -> App:
        """A new app. A repeat with the same idempotency key gives the existing app.

        Raises:
            PermissionDenied: the organisation has as many apps as it may.
        """
        now, caller = self._clock.now(), current()
        app = App(new_id(), caller.org_id, validate_name(name), platform, now, now, description=description)

        async def work(change: Transaction) -> App:
            earlier = await change.apps.get(app.id) if caller.idempotency_key else None
            if earlier is not None:
                return earlier
            await change.apps.add(app)
            await self._quota.add(change, app_counts(platform))
            change.announce(app)
            return app

        return await self._store.change(work)

    async def list(
        self, platform: Platform | None, search: str | None, page: Page, *, package_name: str | None = None
    ) -> tuple[ListPage[App], Counts]:
        """A page of the apps that fit, newest first, and the unfiltered counts.

        With `package_name` only apps that have a build of this package or bundle id.
        """
        pattern = search_pattern(search) if search else None
        counts = await self._store.counters.get()
        if search and pattern is None:
            return ListPage((), 0), counts
        ids = await self._store.builds.apps_of_package(package_name) if package_name else None
        filter = AppFilter(platform, pattern, ids)
        if pattern is None and ids is None:
            return ListPage(await self._store.apps.page(filter, page), counts.apps_of(platform)), counts
        apps, total = await asyncio.gather(self._store.apps.page(filter, page), self._store.apps.count(filter))
        return ListPage(apps, total), counts

    async def get(self, app_id: str) -> App:
        """The app.

        Raises:
            NotFound: it does not exist.
        """
        return require(await self._store.apps.get(app_id), "App")

    async def many(self, app_ids: Sequence[str]) -> Sequence[App]:
        """Those of the apps that exist, in the order asked for."""
        apps = {app.id: app for app in await self._store.apps.many(frozenset(app_ids))}
        return [apps[app_id] for app_id in app_ids if app_id in apps]

    @reports_violations
    async def update(self, app_id: str, changes: AppChanges, expected: Collection[int] = ()) -> App:
        """The app with the changes; unwritten when nothing differs.

        Raises:
            NotFound: it does not exist.
            Aborted: its revision is not expected.
        """
        values = _validate_changes(changes)
        now = self._clock.now()

        async def work(change: Transaction) -> App:
            app = require_revision(await change.apps.get(app_id), "App", expected)
            changed = await _resolve_current_build(change, replace(app, **values))
            if changed == app:
                return app
            return await write_app_revision(change, changed, now)

        return await self._store.change(work, of=app_id)

    async def delete(self, app_id: str, expected: Collection[int] = ()) -> None:
        """Delete the app with its builds and what was written about its failures, and detach its tests.

        Raises:
            NotFound: it does not exist.
            Aborted: as in `update`.
        """
        now = self._clock.now()

        async def work(change: Transaction) -> None:
            app = require_revision(await change.apps.get(app_id), "App", expected)
            gone = mark_deleted(app, now)
            builds = [mark_build_deleted(build, now) for build in await change.builds.of_app(app_id)]
            ended = [detach(attachment) for attachment in await change.attachments.of_app(app_id)]
            triages = await change.failure_triages.clear_all(app_id)
            await change.builds.delete_all(app_id, now)
            await change.attachments.detach_all(app_id)
            await change.apps.replace(gone)
            await change.counters.add(app_counts(app.platform, -1, builds=-len(builds)))
            await change.artifacts.release(b.sha256 for b in builds if b.sha256)
            change.announce(*builds, *ended, *triages, gone)

        await self._store.change(work, of=app_id)


def _validate_changes(changes: AppChanges) -> dict[str, Any]:
    values: dict[str, Any] = dict(changes)
    if values.get("name") is None:
        values.pop("name", None)
    else:
        values["name"] = validate_name(values["name"])
    if values.get("current_version") is not None:
        values["current_version"] = validate_version(values["current_version"], "current_version")
    if values.get("static_url") is not None:
        validate_link(values["static_url"], "static_url")
    return values


async def _resolve_current_build(change: Transaction, app: App) -> App:
    """The app with the build that its current_version names, if there is one."""
    if app.current_version is None:
        return replace(app, current_build_id=None)
    build = await change.builds.of_version(app.id, app.current_version)
    return replace(app, current_build_id=build.id if build else None)


async def update_app_builds(change: Transaction, app: App, *, added: int, at: datetime) -> App:
    """Write and announce the app with its builds as they are now; `added` says how many it has more than it knows."""
    newest = await change.builds.newest(app.id)
    app = replace(
        await _resolve_current_build(change, app),
        versions_count=app.versions_count + added,
        latest_version=newest.version if newest else None,
        latest_build_id=newest.id if newest else None,
    )
    return await write_app_revision(change, app, at)


async def update_app_attachment(
    change: Transaction, app: App, before: Attachment | None, after: Attachment, at: datetime
) -> App:
    """Write and announce the attachment, and the app with its counts as they are now.

    Raises:
        PermissionDenied: the app has as many tests as it may.
    """
    counted = update_test_counts(app, before, after)
    if counted.attached_tests > max(app.attached_tests, ATTACHED_LIMIT):
        raise attached_limit_reached()
    await change.attachments.put([after])
    change.announce(after)
    return await write_app_revision(change, counted, at)


def attached_limit_reached() -> DomainError:
    """The error for more tests than an app may have."""
    return limit_reached("attached_tests", ATTACHED_LIMIT, "detach tests from this app, or register another app")


async def write_app_revision(change: Transaction, app: App, at: datetime) -> App:
    """Write and announce the app after a change of it, or of what belongs to it."""
    kept = raise_revision(app, at)
    await change.apps.replace(kept)
    change.announce(kept)
    return kept
