"""Apps as messages."""

from mobiletest.catalog.v1 import apps_pb2

from services.catalog.memo import Memo
from services.catalog.messages.platforms import platform_set
from services.catalog.messages.values import timestamp
from services.catalog.model.apps import App
from services.catalog.model.counts import Counts


class AppMessages:
    """Makes the message of an app, once for each revision of it: lists are read far more often than apps change."""

    def __init__(self) -> None:
        self._memo: Memo[tuple[str, int], apps_pb2.App] = Memo()

    def of(self, app: App) -> apps_pb2.App:
        """The message; not to be changed by the one who gets it. Reporting's fields are the gateway's to set."""
        size = len(app.system_prompt or "") + len(app.description or "")
        return self._memo.get((app.id, app.revision), _message, app, size=size)


def platform_counts(counts: Counts) -> apps_pb2.AppPlatformCounts:
    """The unfiltered counts."""
    return apps_pb2.AppPlatformCounts(total=counts.apps, ios=counts.ios, android=counts.android)


def _message(app: App) -> apps_pb2.App:
    return apps_pb2.App(
        id=app.id,
        org_id=app.org_id,
        name=app.name,
        platform=platform_set(app.platform),
        static_url=app.static_url,
        current_version=app.current_version,
        description=app.description,
        system_prompt=app.system_prompt,
        created_at=timestamp(app.created_at),
        latest_version=app.latest_version,
        versions_count=app.versions_count,
        latest_build_id=app.latest_build_id,
        current_build_id=app.current_build_id,
        attached_tests=app.attached_tests,
        pinned_tests=app.pinned_tests,
        revision=app.revision,
    )
