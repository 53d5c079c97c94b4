"""Apps, with the facts about their builds and tests that every answer carries."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

from services.catalog.model.values import Platform


@dataclass(frozen=True, slots=True)
class App:
    """An app of one platform.

    The fields from `versions_count` on are copies of facts about its builds and attachments, kept current in the
    transaction that changes those. `revision` rises by one with every change of the app, its builds or its attachments.
    """

    id: str
    org_id: str
    name: str
    platform: Platform
    created_at: datetime
    updated_at: datetime
    description: str | None = None
    static_url: str | None = None
    current_version: str | None = None
    system_prompt: str | None = None
    versions_count: int = 0
    latest_version: str | None = None
    latest_build_id: str | None = None
    current_build_id: str | None = None
    attached_tests: int = 0
    pinned_tests: int = 0
    revision: int = 1
    deleted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class AppFilter:
    """Which apps: of a platform, with one of the ids, and with a folded name that the pattern finds.

    The pattern is one of `text.search_pattern`.
    """

    platform: Platform | None = None
    pattern: str | None = None
    ids: Collection[str] | None = None


def raise_revision(app: App, at: datetime) -> App:
    """The app as it is written after a change: one revision later."""
    return replace(app, revision=app.revision + 1, updated_at=at)


def mark_deleted(app: App, at: datetime) -> App:
    """The app as it is stored after its deletion: what histories and read models need of it."""
    gone = replace(app, deleted_at=at, current_build_id=None, latest_build_id=None, attached_tests=0, pinned_tests=0)
    return raise_revision(replace(gone, description=None, static_url=None, system_prompt=None), at)
