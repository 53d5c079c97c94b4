"""Apps: what the catalog keeps, with what reporting knows of them."""

from collections.abc import Sequence

from mobiletest.catalog.v1 import apps_pb2

from services.gateway.handlers.unary import Asking, Invoke
from services.gateway.upstream.app_stats import AppStats, Asked, set_none_yet
from services.gateway.upstream.reads import Reads

WARNING = '199 mobiletest "reporting does not answer; its fields are null"'


class AppInvocations:
    """Invocations that answer with Apps."""

    def __init__(self, apps: Reads, stats: AppStats) -> None:
        self._apps = apps
        self._stats = stats

    async def get(self, request: apps_pb2.GetAppRequest, asking: Asking, seconds: float) -> apps_pb2.App:
        """Both services are asked at the same time."""
        asked = self._stats.ask(asking.caller, (request.app_id,))
        found = await self._apps.get(asking.caller, request.app_id, seconds)
        app = apps_pb2.App()
        app.CopyFrom(found)
        await self._fill(asked, (app,), asking)
        return app

    def created(self, create: Invoke) -> Invoke:
        """CreateApp: nothing can have run yet."""

        async def invoke(request: apps_pb2.CreateAppRequest, asking: Asking, seconds: float) -> apps_pb2.App:
            app: apps_pb2.App = await create(request, asking, seconds)
            set_none_yet(app)
            return app

        return invoke

    def updated(self, update: Invoke) -> Invoke:
        """UpdateApp."""

        async def invoke(request: apps_pb2.UpdateAppRequest, asking: Asking, seconds: float) -> apps_pb2.App:
            asked = self._stats.ask(asking.caller, (request.app_id,))
            app: apps_pb2.App = await update(request, asking, seconds)
            await self._fill(asked, (app,), asking)
            return app

        return invoke

    def listed(self, list_apps: Invoke) -> Invoke:
        """ListApps."""

        async def invoke(
            request: apps_pb2.ListAppsRequest, asking: Asking, seconds: float
        ) -> apps_pb2.ListAppsResponse:
            page: apps_pb2.ListAppsResponse = await list_apps(request, asking, seconds)
            if page.items:
                asked = self._stats.ask(asking.caller, [app.id for app in page.items])
                await self._fill(asked, page.items, asking)
            return page

        return invoke

    async def _fill(self, asked: Asked, apps: Sequence[apps_pb2.App], asking: Asking) -> None:
        if not await self._stats.fill(asked, apps):
            asking.headers["Warning"] = WARNING
