"""Attaching tests to apps, pinning and detaching them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from services.catalog.model.apps import App
from services.catalog.model.attachments import Attachment, detach, target_version
from services.catalog.model.tests import Quarantine, Test, active_quarantine, is_platform_compatible
from services.catalog.model.text import validate_version
from services.catalog.model.values import InvalidValue, ListPage, Page
from services.catalog.ports import Records, Store, Transaction
from services.catalog.usecases.apps import update_app_attachment
from services.catalog.usecases.errors import reports_violations, require
from services.chassis.clock import Clock
from services.chassis.errors import NotFound


@dataclass(frozen=True, slots=True)
class TargetedAttachment:
    """An attachment, with the version of the app that its test runs on, and the test's quarantine while that lasts.

    `target_build_id` is None while no build has the version.
    """

    attachment: Attachment
    target_version: str | None
    target_build_id: str | None
    quarantine: Quarantine | None = None


class AttachmentUseCases:
    """Attaching, pinning, detaching and listing."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    @reports_violations
    async def attach(self, app_id: str, test_id: str, pinned_version: str | None) -> TargetedAttachment:
        """Attach the test to the app, or change its pin; None lets it follow the app.

        Raises:
            NotFound: no such app or test.
            InvalidArgument: their platforms differ.
            PermissionDenied: the app has as many tests as it may.
        """
        pin = validate_version(pinned_version, "pinned_version") if pinned_version is not None else None
        now = self._clock.now()

        async def work(change: Transaction) -> TargetedAttachment:
            app, test = await _load_app_and_test(change, app_id, test_id)
            _check_platforms(app, test)
            before = await change.attachments.get(app_id, test_id)
            quarantine = active_quarantine(test.quarantine, now)
            if before is not None and before.attached and before.pinned_version == pin:
                return (await target_attachments(change, app, [before], {test_id: quarantine}))[0]
            after = replace(_new_attachment(before, app, test, now), pinned_version=pin)
            app = await update_app_attachment(change, app, before, after, now)
            await _raise_revision(change, test)
            return (await target_attachments(change, app, [after], {test_id: quarantine}))[0]

        return await self._store.change(work, of=app_id)

    async def detach(self, app_id: str, test_id: str) -> None:
        """End the attachment.

        Raises:
            NotFound: no such app or test, or not attached.
        """
        now = self._clock.now()

        async def work(change: Transaction) -> None:
            app, _ = await _load_app_and_test(change, app_id, test_id)
            before = await change.attachments.get(app_id, test_id)
            if before is None or not before.attached:
                raise NotFound("The test is not attached to this app", reason="NOT_ATTACHED")
            await update_app_attachment(change, app, before, detach(before), now)

        await self._store.change(work, of=app_id)

    async def list(self, app_id: str, page: Page) -> ListPage[TargetedAttachment]:
        """A page of the app's attachments, by the tests' names.

        Raises:
            NotFound: no such app.
        """
        app = require(await self._store.apps.get(app_id), "App")
        empty = page.offset >= app.attached_tests
        attachments = () if empty else await self._store.attachments.page(app_id, page)
        quarantines = await self._quarantines([attachment.test_id for attachment in attachments])
        return ListPage(await target_attachments(self._store, app, attachments, quarantines), app.attached_tests)

    async def _quarantines(self, test_ids: Sequence[str]) -> Mapping[str, Quarantine | None]:
        """The active quarantines, by test."""
        now, kept = self._clock.now(), await self._store.tests.quarantines(test_ids) if test_ids else {}
        return {test_id: active_quarantine(quarantine, now) for test_id, quarantine in kept.items()}


async def target_attachments(
    records: Records, app: App, attachments: Sequence[Attachment], quarantines: Mapping[str, Quarantine | None]
) -> Sequence[TargetedAttachment]:
    """Attachments of the app, each with its target and the quarantine of its test."""
    targets = {each.test_id: target_version(each, app) for each in attachments}
    versions = {version for version in targets.values() if version is not None}
    builds = await records.builds.of_versions([app.id], versions) if versions else ()
    ids: dict[str | None, str] = {build.version: build.id for build in builds}
    return [
        TargetedAttachment(each, target, ids.get(target), quarantines.get(each.test_id))
        for each in attachments
        for target in (targets[each.test_id],)
    ]


async def attach_unless_attached(change: Transaction, app: App, test: Test, now: datetime) -> App:
    """The app, to which the test is attached from now on; a pin is kept.

    Raises:
        InvalidValue: their platforms differ.
        PermissionDenied: the app has as many tests as it may.
    """
    before = await change.attachments.get(app.id, test.id)
    if before is not None and before.attached:
        return app
    _check_platforms(app, test)
    app = await update_app_attachment(change, app, before, _new_attachment(before, app, test, now), now)
    await _raise_revision(change, test)
    return app


async def _raise_revision(change: Transaction, test: Test) -> None:
    """Write to the test, so that it cannot be deleted in the same moment."""
    await change.tests.replace(replace(test, revision=test.revision + 1))


def _check_platforms(app: App, test: Test) -> None:
    if not is_platform_compatible(test.platform, app.platform):
        raise InvalidValue("test_id", f"the test is for {test.platform}, the app for {app.platform}")


async def _load_app_and_test(change: Transaction, app_id: str, test_id: str) -> tuple[App, Test]:
    app = require(await change.apps.get(app_id), "App")
    return app, require(await change.tests.get(test_id), "Test")


def _new_attachment(before: Attachment | None, app: App, test: Test, now: datetime) -> Attachment:
    if before is None:
        return Attachment(app.org_id, app.id, test.id, test.name, now)
    created_at = before.created_at if before.attached else now
    again = replace(before, attached=True, created_at=created_at, test_name=test.name)
    return replace(again, revision=before.revision + 1)


@dataclass(frozen=True, slots=True)
class AttachedTest:
    """A test with its attachments, oldest first, each with the app's name, and its quarantine while that lasts.

    `notices` are about what its flow has without effect; only the answer to whom sends the flow has them.
    """

    test: Test
    attachments: Sequence[tuple[Attachment, str]]
    quarantine: Quarantine | None = None
    notices: tuple[str, ...] = ()


async def load_attachments(records: Records, tests: Sequence[Test], now: datetime) -> Sequence[AttachedTest]:
    """The tests as they are seen now, in their order."""
    if not tests:
        return ()
    attachments = await records.attachments.of_tests([test.id for test in tests])
    apps = await records.apps.many({a.app_id for a in attachments}) if attachments else ()
    names = {app.id: app.name for app in apps}
    of_test: dict[str, list[tuple[Attachment, str]]] = {test.id: [] for test in tests}
    for attachment in attachments:
        of_test[attachment.test_id].append((attachment, names.get(attachment.app_id, "")))
    return [AttachedTest(test, of_test[test.id], active_quarantine(test.quarantine, now)) for test in tests]
