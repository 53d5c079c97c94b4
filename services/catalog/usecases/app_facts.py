"""Keeps an app's copies of facts about its builds and attachments current, inside of the change that alters those."""

from datetime import datetime

from services.catalog.model.apps import App, BuildFacts, revised, with_builds
from services.catalog.model.attachments import Attachment, counted
from services.catalog.ports.store import Change


async def builds_changed(change: Change, app: App, *, added: int, at: datetime) -> App:
    """Write and announce the app with its builds as they are now; `added` says how many it has more than it knows."""
    named = app.current_version
    current = await change.builds.of_version(app.id, named) if named is not None else None
    facts = BuildFacts(app.versions_count + added, await change.builds.newest(app.id), current)
    return await _written(change, with_builds(app, facts), at)


async def attachment_changed(
    change: Change, app: App, before: Attachment | None, after: Attachment, at: datetime
) -> App:
    """Write and announce the attachment, and the app with its counts as they are now."""
    await change.attachments.put([after])
    change.announce(after)
    return await _written(change, counted(app, before, after), at)


async def _written(change: Change, app: App, at: datetime) -> App:
    kept = revised(app, at)
    await change.apps.replace(kept)
    change.announce(kept)
    return kept
