"""Tests as clients see them: with what they are attached to, and with a quarantine only while it lasts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from services.catalog.model.attachments import Attachment
from services.catalog.model.quarantine import Quarantine, lasting
from services.catalog.model.tests import Test
from services.catalog.ports.store import Records
from services.chassis.errors import NotFound


@dataclass(frozen=True, slots=True)
class AttachedTest:
    """A test with its attachments, oldest first, each with the app's name, and its quarantine while that lasts."""

    test: Test
    attachments: Sequence[tuple[Attachment, str]]
    quarantine: Quarantine | None = None


def no_such_test() -> NotFound:
    """What is said of a test that is unknown, deleted, or another organisation's."""
    return NotFound("Test not found")


async def attached(records: Records, tests: Sequence[Test], now: datetime) -> Sequence[AttachedTest]:
    """The tests as they are seen now, in their order."""
    if not tests:
        return ()
    attachments = await records.attachments.of_tests([test.id for test in tests])
    apps = await records.apps.many({a.app_id for a in attachments}) if attachments else ()
    names = {app.id: app.name for app in apps}
    of_test: dict[str, list[tuple[Attachment, str]]] = {test.id: [] for test in tests}
    for attachment in attachments:
        of_test[attachment.test_id].append((attachment, names.get(attachment.app_id, "")))
    return [AttachedTest(test, of_test[test.id], lasting(test.quarantine, now)) for test in tests]
