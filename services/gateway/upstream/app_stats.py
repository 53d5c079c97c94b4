"""The fields of an App that reporting knows; an App without them is better than no App."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import grpc
from mobiletest.catalog.v1 import apps_pb2
from mobiletest.reporting.v1 import reports_pb2

from services.chassis import context, logs
from services.chassis.batcher import Batcher, Request
from services.chassis.clock import Clock
from services.chassis.context import Caller
from services.chassis.errors import DomainError
from services.gateway.upstream.rpcs import GATHERING_TURNS, Upstreams

# After so many failures in a row no requests are sent to reporting for a while.
FAILURES_BEFORE_PAUSE = 3
PAUSE_SECONDS = 1.0

# The statistics of an app without executions.
NO_STATS = reports_pb2.AppStats()

log = logs.get(__name__)

# A request that is under way; None while requests are paused.
PendingStats = Request[str, reports_pb2.AppStats] | None


class AppStatsClient:
    """Reads statistics from reporting, with a short timeout of its own."""

    def __init__(self, upstreams: Upstreams, timeout: float, clock: Clock) -> None:
        service = reports_pb2.DESCRIPTOR.services_by_name["Reports"]
        self._rpc = upstreams.rpc(service.methods_by_name["BatchGetAppStats"])
        self._batcher: Batcher[str, reports_pb2.AppStats] = Batcher(self._fetch, turns=GATHERING_TURNS)
        self._timeout = timeout
        self._clock = clock
        self._failures = 0
        self._paused_until = 0.0

    def request(self, caller: Caller, app_ids: Sequence[str]) -> PendingStats:
        """Start to read the statistics; `fill` waits for them."""
        if self._failures >= FAILURES_BEFORE_PAUSE and self._clock.monotonic() < self._paused_until:
            return None
        return self._batcher.join(caller, app_ids)

    async def fill(self, pending: PendingStats, apps: Sequence[apps_pb2.App]) -> bool:
        """Set the fields in the apps; False, and the fields left unset, when reporting does not answer in time.

        A client's own shorter timeout does not count as a failure of reporting.
        """
        if pending is None:
            return False
        remaining = context.time_remaining()
        timeout = self._timeout if remaining is None else min(self._timeout, remaining)
        with suppress(grpc.aio.AioRpcError, DomainError, TimeoutError):
            stats = await pending.results(timeout)
            self._failures = 0
            for app in apps:
                set_stats(app, stats[app.id])
            return True
        if timeout == self._timeout:
            self._count_failure()
        return False

    async def _fetch(self, ids: Sequence[str]) -> Mapping[str, reports_pb2.AppStats]:
        answer: Any = await self._rpc(reports_pb2.BatchGetAppStatsRequest(app_ids=ids), timeout=self._timeout)
        return dict.fromkeys(ids, NO_STATS) | {stats.app_id: stats for stats in answer.stats}

    def _count_failure(self) -> None:
        self._failures += 1
        self._paused_until = self._clock.monotonic() + PAUSE_SECONDS
        log.warning("app_stats_unavailable", failures=self._failures)


def set_stats(app: apps_pb2.App, stats: reports_pb2.AppStats | reports_pb2.AppWorkspace) -> None:
    """Copy the statistics into the app."""
    app.recent_executions = stats.recent_executions
    app.attribution_ready = stats.attribution_ready
    if stats.HasField("rolling_pass_rate"):
        app.rolling_pass_rate = stats.rolling_pass_rate
