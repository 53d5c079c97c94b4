"""What can be done with the attachments of tests to apps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from services.catalog.model.apps import App
from services.catalog.model.attachments import Attachment, detached, target_version
from services.catalog.model.pages import Listed, Page
from services.catalog.model.quarantine import Quarantine, lasting
from services.catalog.model.refusals import Refused
from services.catalog.model.tests import Test, agrees
from services.catalog.model.text import checked_version
from services.catalog.ports.store import Change, Store
from services.catalog.usecases.app_facts import attachment_changed
from services.catalog.usecases.apps import no_such_app
from services.catalog.usecases.attached_tests import no_such_test
from services.catalog.usecases.refusing import refusing
from services.chassis.clock import Clock
from services.chassis.errors import NotFound


@dataclass(frozen=True, slots=True)
class Targeted:
    """An attachment, the version that its test is to pass on (None while there is none), and the test's quarantine."""

    attachment: Attachment
    target_version: str | None
    quarantine: Quarantine | None = None


class AttachmentUseCases:
    """Attaching, pinning, detaching and listing."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    @refusing
    async def attach(self, app_id: str, test_id: str, pinned_version: str | None) -> Targeted:
        """Attach the test to the app, or change its pin; None lets it follow the app.

        NotFound: no such app or test; InvalidArgument: their platforms differ.
        """
        pin = checked_version(pinned_version, "pinned_version") if pinned_version is not None else None
        now = self._clock.now()

        async def work(change: Change) -> Targeted:
            app, test = await _both(change, app_id, test_id)
            if not agrees(test.platform, app.platform):
                raise Refused("test_id", f"the test is for {test.platform}, the app for {app.platform}")
            before = await change.attachments.get(app_id, test_id)
            if before is not None and before.attached and before.pinned_version == pin:
                return Targeted(before, target_version(before, app), lasting(test.quarantine, now))
            after = replace(_attached(before, app, test, now), pinned_version=pin)
            app = await attachment_changed(change, app, before, after, now)
            # A write to the test, so that it cannot be deleted in the same moment.
            await change.tests.replace(replace(test, revision=test.revision + 1))
            return Targeted(after, target_version(after, app), lasting(test.quarantine, now))

        return await self._store.change(work, of=app_id)

    async def detach(self, app_id: str, test_id: str) -> None:
        """End the attachment. NotFound: no such app or test, or not attached."""
        now = self._clock.now()

        async def work(change: Change) -> None:
            app, _ = await _both(change, app_id, test_id)
            before = await change.attachments.get(app_id, test_id)
            if before is None or not before.attached:
                raise NotFound("The test is not attached to this app", reason="NOT_ATTACHED")
            await attachment_changed(change, app, before, detached(before), now)

        await self._store.change(work, of=app_id)

    async def list(self, app_id: str, page: Page) -> Listed[Targeted]:
        """A page of the app's attachments, by the tests' names. NotFound: no such app."""
        app = await self._store.apps.get(app_id)
        if app is None:
            raise no_such_app()
        empty = page.offset >= app.attached_tests
        found = () if empty else await self._store.attachments.page(app_id, page)
        quarantines = await self._quarantines([attachment.test_id for attachment in found])
        targeted = [Targeted(a, target_version(a, app), quarantines.get(a.test_id)) for a in found]
        return Listed(targeted, app.attached_tests)

    async def _quarantines(self, test_ids: Sequence[str]) -> Mapping[str, Quarantine | None]:
        """Those that last, by test."""
        now, kept = self._clock.now(), await self._store.tests.quarantines(test_ids) if test_ids else {}
        return {test_id: lasting(quarantine, now) for test_id, quarantine in kept.items()}


async def _both(change: Change, app_id: str, test_id: str) -> tuple[App, Test]:
    app = await change.apps.get(app_id)
    if app is None:
        raise no_such_app()
    test = await change.tests.get(test_id)
    if test is None:
        raise no_such_test()
    return app, test


def _attached(before: Attachment | None, app: App, test: Test, now: datetime) -> Attachment:
    if before is None:
        return Attachment(app.org_id, app.id, test.id, test.name, now)
    created_at = before.created_at if before.attached else now
    again = replace(before, attached=True, created_at=created_at, test_name=test.name)
    return replace(again, revision=before.revision + 1)
