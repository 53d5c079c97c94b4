"""Functions that get the response message of an operation: through its RPC, a batch, or RPCs of several services."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import grpc
from google.protobuf.message import Message
from mobiletest.catalog.v1 import apps_pb2, limits_pb2
from mobiletest.executor.v1 import limits_pb2 as executor_pb2
from mobiletest.types.v1 import limits_pb2 as types_pb2

from services.chassis.errors import DomainError
from services.chassis.grpc_channel import REPLAYED
from services.gateway.handlers.concurrency import ConcurrencyLimit
from services.gateway.http.open_streams import OpenStreams
from services.gateway.http.request_context import RequestContext
from services.gateway.upstream.app_stats import NO_STATS, AppStatsClient, PendingStats, set_stats
from services.gateway.upstream.call_batcher import CallBatcher
from services.gateway.upstream.rpcs import BatchReader, Rpc

# (request message, context, timeout in seconds) -> response message
Invocation = Callable[[Any, RequestContext, float], Awaitable[Any]]
LIMITS_MISSING = '199 mobiletest "the executor does not answer; its limits are missing"'
RATES = ("requests_per_second", "request_burst", "key_requests_per_second", "key_request_burst")
STATS_MISSING = '199 mobiletest "reporting does not answer; its fields are null"'


def call_rpc(rpc: Rpc) -> Invocation:
    """The RPC itself."""

    async def invoke(message: Message, context: RequestContext, timeout: float) -> Any:
        call = rpc(message, timeout=timeout)
        answer = await call
        if context.caller.idempotency_key is not None and REPLAYED in tuple(await call.trailing_metadata() or ()):
            context.response_headers["Idempotent-Replayed"] = "true"
        return answer

    return invoke


def call_in_batch(calls: CallBatcher) -> Invocation:
    """The RPC, in one message with those that are called at the same time."""

    async def invoke(message: Message, context: RequestContext, timeout: float) -> Any:
        answered = await calls.call(message, context.caller, timeout)
        if answered.replayed:
            context.response_headers["Idempotent-Replayed"] = "true"
        return answered.response

    return invoke


def unless_searching(batch: Invocation, alone: Invocation) -> Invocation:
    """A list that makes a call of its own when it searches: no other list shall wait for a slow search."""

    async def invoke(message: Any, context: RequestContext, timeout: float) -> Any:
        return await (alone if message.search else batch)(message, context, timeout)

    return invoke


async def read_resource(reader: BatchReader, id_: str, context: RequestContext, timeout: float) -> Any:
    """A resource, which the operations of a page read once.

    Raises:
        NotFound: it does not exist.
    """
    if context.resources is None:
        return await reader.get(context.caller, id_, timeout)
    if (reader, id_) not in context.resources:
        context.resources[reader, id_] = await reader.get(context.caller, id_, timeout)
    return context.resources[reader, id_]


def read_by_id(reader: BatchReader, id_field: str) -> Invocation:
    """A Get by the one id in its request."""

    async def invoke(message: Any, context: RequestContext, timeout: float) -> Any:
        return await read_resource(reader, getattr(message, id_field), context, timeout)

    return invoke


def long_poll_or_batch(
    batch: Invocation, long_poll: Invocation, open_streams: OpenStreams, streams: ConcurrencyLimit
) -> Invocation:
    """A Get that makes a call of its own when the client waits for a change, which ends when the client's key does."""

    async def invoke(message: Any, context: RequestContext, timeout: float) -> Any:
        if not message.wait:
            return await batch(message, context, timeout)
        with streams.enter(context):
            async with open_streams.while_valid(context):
                return await long_poll(message, context, timeout)

    return invoke


def limits_in_use(catalog: Invocation, executor: Invocation, counted: Sequence[ConcurrencyLimit]) -> Invocation:
    """GetLimits: what the catalog (GetLimits), the executor (ListRunLimits) and this process limit, in one list."""

    async def invoke(message: Any, context: RequestContext, timeout: float) -> limits_pb2.GetLimitsResponse:
        limits: limits_pb2.GetLimitsResponse = await catalog(message, context, timeout)
        own = [types_pb2.Limit(name=name, limit=getattr(context.limits, name)) for name in RATES]
        for each in counted:
            used = each.used(context.caller.org_id)
            own.append(types_pb2.Limit(name=each.name, limit=getattr(context.limits, each.name), used=used))
        context.response_headers["Warning"] = LIMITS_MISSING
        available: bool | None = None
        with suppress(grpc.aio.AioRpcError, DomainError, TimeoutError):
            runs = await executor(executor_pb2.ListRunLimitsRequest(), context, timeout)
            limits.limits.extend(runs.limits)
            available = runs.models_available if runs.HasField("models_available") else None
            del context.response_headers["Warning"]
        return limits_pb2.GetLimitsResponse(
            limits=[*own, *limits.limits], allowed_models=limits.allowed_models, models_available=available
        )

    return invoke


class AppInvocations:
    """Invocations whose responses are apps."""

    def __init__(self, apps: BatchReader, stats: AppStatsClient) -> None:
        self._apps = apps
        self._stats = stats

    async def get(self, message: apps_pb2.GetAppRequest, context: RequestContext, timeout: float) -> apps_pb2.App:
        """GetApp: asks both services at the same time."""
        pending = self._stats.request(context.caller, (message.app_id,))
        shared = await read_resource(self._apps, message.app_id, context, timeout)
        app = apps_pb2.App()
        app.CopyFrom(shared)
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
            context.response_headers["Warning"] = STATS_MISSING
