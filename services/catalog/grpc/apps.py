"""The gRPC service Apps."""

# ruff: noqa: N802 (gRPC names the methods)
from typing import Any

from google.protobuf.empty_pb2 import Empty
from mobiletest.catalog.v1 import apps_pb2, apps_pb2_grpc

from services.catalog.grpc.conversions import named_fields, page_of, platform, platform_number
from services.catalog.model.apps import App
from services.catalog.model.values import Counts, Platform
from services.catalog.usecases.apps import AppUseCases
from services.chassis.proto_values import page_fields, read_optional, to_timestamp

_CHANGEABLE = ("name", "static_url", "current_version", "description", "system_prompt")
CACHED_MESSAGES = 5_000
# Apps with longer texts are not cached: a few thousand long prompts would fill the memory.
CACHED_TEXT_LENGTH = 16 * 1024


class AppsServicer(apps_pb2_grpc.AppsServicer):
    """See the proto."""

    def __init__(self, usecases: AppUseCases) -> None:
        self._usecases = usecases
        self._messages = AppMessages()

    async def CreateApp(self, request: apps_pb2.CreateAppRequest, context: Any) -> apps_pb2.App:
        chosen = platform(request.platform) or Platform.IOS  # the rules of the request leave no other case
        app = await self._usecases.create(request.name, chosen, read_optional(request, "description"))
        return self._messages.of(app)

    async def ListApps(self, request: apps_pb2.ListAppsRequest, context: Any) -> apps_pb2.ListAppsResponse:
        page = page_of(request)
        listed, counts = await self._usecases.list(
            platform(request.platform), request.search or None, page, package_name=request.package_name or None
        )
        return apps_pb2.ListAppsResponse(
            items=map(self._messages.of, listed.items),
            platform_counts=platform_counts(counts),
            **page_fields(request, listed.total),
        )

    async def GetApp(self, request: apps_pb2.GetAppRequest, context: Any) -> apps_pb2.App:
        return self._messages.of(await self._usecases.get(request.app_id))

    async def BatchGetApps(self, request: apps_pb2.BatchGetAppsRequest, context: Any) -> apps_pb2.BatchGetAppsResponse:
        apps = await self._usecases.many(request.app_ids)
        return apps_pb2.BatchGetAppsResponse(apps=map(self._messages.of, apps))

    async def UpdateApp(self, request: apps_pb2.UpdateAppRequest, context: Any) -> apps_pb2.App:
        fields = named_fields(request, request.update_mask.paths, _CHANGEABLE)
        changes = {field: read_optional(request, field) for field in fields}
        return self._messages.of(await self._usecases.update(request.app_id, changes, request.expected_revisions))

    async def DeleteApp(self, request: apps_pb2.DeleteAppRequest, context: Any) -> Empty:
        await self._usecases.delete(request.app_id, request.expected_revisions)
        return Empty()


class AppMessages:
    """Makes the message of an app, once for each revision of it: lists are read far more often than apps change."""

    def __init__(self) -> None:
        self._messages: dict[tuple[str, int], apps_pb2.App] = {}

    def of(self, app: App) -> apps_pb2.App:
        """The message, which callers must not change. The gateway sets the fields that reporting has."""
        if len(app.system_prompt or "") + len(app.description or "") > CACHED_TEXT_LENGTH:
            return _message(app)
        message = self._messages.get((app.id, app.revision))
        if message is None:
            if len(self._messages) >= CACHED_MESSAGES:
                del self._messages[next(iter(self._messages))]
            message = self._messages[app.id, app.revision] = _message(app)
        return message


def platform_counts(counts: Counts) -> apps_pb2.AppPlatformCounts:
    """The unfiltered counts."""
    return apps_pb2.AppPlatformCounts(total=counts.apps, ios=counts.ios, android=counts.android)


def _message(app: App) -> apps_pb2.App:
    return apps_pb2.App(
        id=app.id,
        org_id=app.org_id,
        name=app.name,
        platform=platform_number(app.platform),
        static_url=app.static_url,
        current_version=app.current_version,
        description=app.description,
        system_prompt=app.system_prompt,
        created_at=to_timestamp(app.created_at),
        latest_version=app.latest_version,
        versions_count=app.versions_count,
        latest_build_id=app.latest_build_id,
        current_build_id=app.current_build_id,
        attached_tests=app.attached_tests,
        pinned_tests=app.pinned_tests,
        revision=app.revision,
    )
