"""Apps: the catalog's fields together with the statistics of reporting."""

from collections.abc import Sequence

from mobiletest.catalog.v1 import apps_pb2

from services.gateway.handlers.invocations import Invocation, read_resource
from services.gateway.http.request_context import RequestContext
from services.gateway.upstream.app_stats import NO_STATS, AppStatsClient, PendingStats, set_stats
from services.gateway.upstream.rpcs import BatchReader

WARNING = '199 mobiletest "reporting does not answer; its fields are null"'


class AppInvocations:
    """Invocations whose responses are apps."""

    def __init__(self, apps: BatchReader, stats: AppStatsClient) -> None:
        self._apps = apps
        self._stats = stats

    async def get(self, message: apps_pb2.GetAppRequest, context: RequestContext, timeout: float) -> apps_pb2.App:
        """GetApp: asks both services at the same time."""
        pending = self._stats.request(context.caller, (message.app_id,))
        found = await read_resource(self._apps, message.app_id, context, timeout)
        app = apps_pb2.App()
        app.CopyFrom(found)
        await self._fill(pending, (app,), context)
        return app

    def create(self, call_rpc: Invocation) -> Invocation:
        """CreateApp: a new app has no executions yet."""

        async def invoke(message: apps_pb2.CreateAppRequest, context: RequestContext, timeout: float) -> apps_pb2.App:
            app: apps_pb2.App = await call_rpc(message, context, timeout)
            set_stats(app, NO_STATS)
            return app

        return invoke

    def update(self, call_rpc: Invocation) -> Invocation:
        """UpdateApp."""

        async def invoke(message: apps_pb2.UpdateAppRequest, context: RequestContext, timeout: float) -> apps_pb2.App:
            pending = self._stats.request(context.caller, (message.app_id,))
            app: apps_pb2.App = await call_rpc(message, context, timeout)
            await self._fill(pending, (app,), context)
            return app

        return invoke

    def list(self, call_rpc: Invocation) -> Invocation:
        """ListApps."""

        async def invoke(
            message: apps_pb2.ListAppsRequest, context: RequestContext, timeout: float
        ) -> apps_pb2.ListAppsResponse:
            page: apps_pb2.ListAppsResponse = await call_rpc(message, context, timeout)
            if page.items:
                pending = self._stats.request(context.caller, [app.id for app in page.items])
                await self._fill(pending, page.items, context)
            return page

        return invoke

    async def _fill(self, pending: PendingStats, apps: Sequence[apps_pb2.App], context: RequestContext) -> None:
        if not await self._stats.fill(pending, apps):
            context.response_headers["Warning"] = WARNING
