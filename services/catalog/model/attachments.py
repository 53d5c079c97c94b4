"""Attachments: which tests belong to which app, and which of them are pinned to a version."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from services.catalog.model.apps import App

# Tests of an app: a report on it shows all of them.
ATTACHED_LIMIT = 10_000


class Relationship(StrEnum):
    """How a test belongs to an app."""

    PINNED = "pinned"
    ATTACHED = "attached"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A test that belongs to an app.

    A pinned test runs on `pinned_version`, which may name a build that is yet to come; without a pin it follows the
    app. `revision` goes on rising when a test is detached and attached again, so a detached one is kept.
    """

    org_id: str
    app_id: str
    test_id: str
    test_name: str
    created_at: datetime
    pinned_version: str | None = None
    attached: bool = True
    revision: int = 1

    @property
    def relationship(self) -> Relationship:
        """Pinned when it names a version."""
        return Relationship.PINNED if self.pinned_version is not None else Relationship.ATTACHED


def target_version(attachment: Attachment, app: App) -> str | None:
    """The version that the test is to pass on: its pin, else the app's current build's, else the newest's."""
    current = app.current_version if app.current_build_id is not None else None
    return attachment.pinned_version or current or app.latest_version


def detach(attachment: Attachment) -> Attachment:
    """The attachment after it has ended."""
    return replace(attachment, attached=False, pinned_version=None, revision=attachment.revision + 1)


def change_pin(attachment: Attachment, version: str | None) -> Attachment:
    """The attachment with another pin, or none."""
    return replace(attachment, pinned_version=version, revision=attachment.revision + 1)


def update_test_counts(app: App, before: Attachment | None, after: Attachment) -> App:
    """The app with its counts as they are once the attachment has changed from `before` (None: new) to `after`."""
    return replace(
        app,
        attached_tests=app.attached_tests + _attached(after) - _attached(before),
        pinned_tests=app.pinned_tests + _pinned(after) - _pinned(before),
    )


def _attached(attachment: Attachment | None) -> int:
    return int(attachment is not None and attachment.attached)


def _pinned(attachment: Attachment | None) -> int:
    return int(attachment is not None and attachment.attached and attachment.relationship is Relationship.PINNED)
