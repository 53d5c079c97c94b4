"""The gRPC service Apps."""

# ruff: noqa: N802 (gRPC names the methods)

from typing import Any

from google.protobuf.empty_pb2 import Empty
from mobiletest.catalog.v1 import apps_pb2, apps_pb2_grpc

from services.catalog.messages.apps import AppMessages, platform_counts
from services.catalog.messages.platforms import platform
from services.catalog.messages.values import envelope, named_fields, optional, page_of
from services.catalog.model.platforms import Platform
from services.catalog.usecases.apps import AppUseCases

_CHANGEABLE = ("name", "static_url", "current_version", "description", "system_prompt")


class AppsServicer(apps_pb2_grpc.AppsServicer):
    """See the proto."""

    def __init__(self, usecases: AppUseCases) -> None:
        self._usecases = usecases
        self._messages = AppMessages()

    async def CreateApp(self, request: apps_pb2.CreateAppRequest, context: Any) -> apps_pb2.App:
        chosen = platform(request.platform) or Platform.IOS  # the rules of the request leave no other case
        app = await self._usecases.create(request.name, chosen, optional(request, "description"))
        return self._messages.of(app)

    async def ListApps(self, request: apps_pb2.ListAppsRequest, context: Any) -> apps_pb2.ListAppsResponse:
        page = page_of(request)
        listed, counts = await self._usecases.list(platform(request.platform), request.search or None, page)
        return apps_pb2.ListAppsResponse(
            items=map(self._messages.of, listed.items),
            platform_counts=platform_counts(counts),
            **envelope(page, listed.total),
        )

    async def GetApp(self, request: apps_pb2.GetAppRequest, context: Any) -> apps_pb2.App:
        return self._messages.of(await self._usecases.get(request.app_id))

    async def BatchGetApps(self, request: apps_pb2.BatchGetAppsRequest, context: Any) -> apps_pb2.BatchGetAppsResponse:
        apps = await self._usecases.many(request.app_ids)
        return apps_pb2.BatchGetAppsResponse(apps=map(self._messages.of, apps))

    async def UpdateApp(self, request: apps_pb2.UpdateAppRequest, context: Any) -> apps_pb2.App:
        fields = named_fields(request, request.update_mask.paths, _CHANGEABLE)
        changes = {field: optional(request, field) for field in fields}
        return self._messages.of(await self._usecases.update(request.app_id, changes))

    async def DeleteApp(self, request: apps_pb2.DeleteAppRequest, context: Any) -> Empty:
        await self._usecases.delete(request.app_id)
        return Empty()
