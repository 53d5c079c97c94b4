"""GET /api/v1/settings/limits: what the catalog, the executor and this process limit, in one list."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import grpc
from mobiletest.catalog.v1 import limits_pb2
from mobiletest.executor.v1 import limits_pb2 as executor_pb2
from mobiletest.types.v1 import limits_pb2 as types_pb2

from services.chassis.errors import DomainError
from services.gateway.handlers.concurrency import ConcurrencyLimit
from services.gateway.handlers.invocations import Invocation
from services.gateway.http.request_context import RequestContext

WARNING = '199 mobiletest "the executor does not answer; its limits are missing"'
RATES = ("requests_per_second", "request_burst", "key_requests_per_second", "key_request_burst")


def limits_in_use(catalog: Invocation, executor: Invocation, counted: Sequence[ConcurrencyLimit]) -> Invocation:
    """GetLimits: the RPCs GetLimits and ListRunLimits, and the limits of this process."""

    async def invoke(message: Any, context: RequestContext, timeout: float) -> limits_pb2.GetLimitsResponse:
        limits: limits_pb2.GetLimitsResponse = await catalog(message, context, timeout)
        own = [types_pb2.Limit(name=name, limit=getattr(context.limits, name)) for name in RATES]
        for each in counted:
            used = each.used(context.caller.org_id)
            own.append(types_pb2.Limit(name=each.name, limit=getattr(context.limits, each.name), used=used))
        context.response_headers["Warning"] = WARNING
        with suppress(grpc.aio.AioRpcError, DomainError, TimeoutError):
            runs = await executor(executor_pb2.ListRunLimitsRequest(), context, timeout)
            limits.limits.extend(runs.limits)
            del context.response_headers["Warning"]
        return limits_pb2.GetLimitsResponse(limits=[*own, *limits.limits], allowed_models=limits.allowed_models)

    return invoke
