"""Apps: what the catalog keeps, with what reporting knows of them."""

from collections.abc import Sequence

from mobiletest.catalog.v1 import apps_pb2

from services.gateway.handlers.unary import CallContext, Invoke
from services.gateway.upstream.app_stats import AppStatsClient, PendingStats, set_empty_stats
from services.gateway.upstream.batch_reader import BatchReader

WARNING = '199 mobiletest "reporting does not answer; its fields are null"'


class AppInvocations:
    """Invocations that answer with Apps."""

    def __init__(self, apps: BatchReader, stats: AppStatsClient) -> None:
        self._apps = apps
        self._stats = stats

    async def get(self, request: apps_pb2.GetAppRequest, asking: CallContext, seconds: float) -> apps_pb2.App:
        """Both services are asked at the same time."""
        asked = self._stats.ask(asking.caller, (request.app_id,))
        found = await self._apps.get(asking.caller, request.app_id, seconds)
        app = apps_pb2.App()
        app.CopyFrom(found)
        await self._fill(asked, (app,), asking)
        return app

    def created(self, create: Invoke) -> Invoke:
        """CreateApp: nothing can have run yet."""

        async def invoke(request: apps_pb2.CreateAppRequest, asking: CallContext, seconds: float) -> apps_pb2.App:
            app: apps_pb2.App = await create(request, asking, seconds)
            set_empty_stats(app)
            return app

        return invoke

    def updated(self, update: Invoke) -> Invoke:
        """UpdateApp."""

        async def invoke(request: apps_pb2.UpdateAppRequest, asking: CallContext, seconds: float) -> apps_pb2.App:
            asked = self._stats.ask(asking.caller, (request.app_id,))
            app: apps_pb2.App = await update(request, asking, seconds)
            await self._fill(asked, (app,), asking)
            return app

        return invoke

    def listed(self, list_apps: Invoke) -> Invoke:
        """ListApps."""

        async def invoke(
            request: apps_pb2.ListAppsRequest, asking: CallContext, seconds: float
        ) -> apps_pb2.ListAppsResponse:
            page: apps_pb2.ListAppsResponse = await list_apps(request, asking, seconds)
            if page.items:
                asked = self._stats.ask(asking.caller, [app.id for app in page.items])
                await self._fill(asked, page.items, asking)
            return page

        return invoke

    async def _fill(self, asked: PendingStats, apps: Sequence[apps_pb2.App], asking: CallContext) -> None:
        if not await self._stats.fill(asked, apps):
            asking.headers["Warning"] = WARNING
