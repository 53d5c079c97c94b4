"""Values of the catalog's domain, for the tests: every field has a default, and each test names what it is about."""

from datetime import UTC, datetime, timedelta
from typing import Any

from services.catalog.model.apps import App
from services.catalog.model.attachments import Attachment
from services.catalog.model.builds import Build
from services.catalog.model.platforms import Platform
from services.catalog.model.tests import Test

ORG = "0a000000-0000-4000-8000-000000000001"
START = datetime(2026, 1, 1, tzinfo=UTC)


def at(minutes: int) -> datetime:
    """A moment, in minutes after the beginning of the tests' time."""
    return START + timedelta(minutes=minutes)


def app(id: str = "app", platform: Platform = Platform.ANDROID, **fields: Any) -> App:
    """An app named after its id."""
    given: dict[str, Any] = {"name": id, "created_at": START, "updated_at": START} | fields
    return App(id=id, org_id=ORG, platform=platform, **given)


def build(version: str = "1.0", app_id: str = "app", **fields: Any) -> Build:
    """A build whose id is made of its app and version."""
    given: dict[str, Any] = {"id": f"{app_id}@{version}", "uploaded_at": START} | fields
    return Build(org_id=ORG, app_id=app_id, version=version, **given)


def a_test(id: str = "test", platform: Platform | None = None, **fields: Any) -> Test:
    """A test named after its id."""
    given: dict[str, Any] = {"name": id, "created_at": START, "updated_at": START} | fields
    return Test(id=id, org_id=ORG, platform=platform, **given)


def attachment(app_id: str = "app", test_id: str = "test", pin: str | None = None, minutes: int = 0) -> Attachment:
    """An attachment made so many minutes after the start."""
    return Attachment(ORG, app_id, test_id, test_name=test_id, created_at=at(minutes), pinned_version=pin)
