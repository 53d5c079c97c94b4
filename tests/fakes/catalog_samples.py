"""Values of the catalog's domain for tests: every field has a default, and each test names what it is about.

They belong to the organisation of the caller, or to ORG without one.
"""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

from services.catalog.model.apps import App
from services.catalog.model.attachments import Attachment
from services.catalog.model.builds import Build
from services.catalog.model.keys import ALL_SCOPES, ApiKey, KeySession, PresentedKey, secret_digest
from services.catalog.model.tests import Test
from services.catalog.model.values import Platform
from services.catalog.model.workflows import Workflow
from services.chassis import context

ORG = "0a000000-0000-4000-8000-000000000001"
# In the future, because MongoDB deletes sessions and reservations that have expired.
START = datetime(2100, 1, 1, tzinfo=UTC)


def at(minutes: int) -> datetime:
    """A moment, in minutes after the beginning of the tests' time."""
    return START + timedelta(minutes=minutes)


def org() -> str:
    """Whose the values are."""
    caller = context.current_or_none()
    return caller.org_id if caller else ORG


def app(id: str = "app", platform: Platform = Platform.ANDROID, minutes: int = 0, **fields: Any) -> App:
    """An app named after its id, registered so many minutes after the start."""
    given: dict[str, Any] = {"name": id, "created_at": at(minutes), "updated_at": at(minutes)} | fields
    return App(id=id, org_id=org(), platform=platform, **given)


def build(version: str = "1.0", app_id: str = "app", minutes: int = 0, **fields: Any) -> Build:
    """A build whose id is made of its app and version, uploaded so many minutes after the start."""
    given: dict[str, Any] = {"id": f"{app_id}@{version}", "uploaded_at": at(minutes)} | fields
    return Build(org_id=org(), app_id=app_id, version=version, **given)


def a_test(id: str = "test", platform: Platform | None = None, minutes: int = 0, **fields: Any) -> Test:
    """A test named after its id, written so many minutes after the start."""
    given: dict[str, Any] = {"name": id, "created_at": at(minutes), "updated_at": at(minutes)} | fields
    return Test(id=id, org_id=org(), platform=platform, **given)


def attachment(app_id: str = "app", test_id: str = "test", pin: str | None = None, minutes: int = 0) -> Attachment:
    """An attachment made so many minutes after the start."""
    return Attachment(org(), app_id, test_id, test_name=test_id, created_at=at(minutes), pinned_version=pin)


def workflow(id: str = "workflow", minutes: int = 0, **fields: Any) -> Workflow:
    """A workflow named after its id, made so many minutes after the start."""
    given: dict[str, Any] = {"name": id, "created_at": at(minutes), "updated_at": at(minutes)} | fields
    return Workflow(id=id, org_id=org(), **given)


def session(offered: PresentedKey, key_id: str = "key", minutes: int = 0) -> KeySession:
    """The session that is kept for the offered token, begun so many minutes after the start."""
    return KeySession(
        id=offered.lookup,
        org_id=org(),
        api_key_id=key_id,
        lookup=offered.lookup,
        secret_sha256=secret_digest(offered.secret),
        created_at=at(minutes),
        expires_at=at(minutes) + timedelta(hours=12),
    )


def api_key(offered: PresentedKey, minutes: int = 0, **fields: Any) -> ApiKey:
    """The key that is kept for the offered one, issued so many minutes after the start; its id is the lookup id."""
    given: dict[str, Any] = {
        "id": offered.lookup,
        "name": "ci",
        "scopes": ALL_SCOPES,
        "created_at": at(minutes),
    } | fields
    return ApiKey(org_id=org(), lookup=offered.lookup, secret_sha256=secret_digest(offered.secret), **given)


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    """A file in parts."""
    for part in parts:
        yield part
